"""A service on a port of this machine, for tests with real clients."""

import socket
import threading
from contextlib import contextmanager

import uvicorn

from admiral import RetrievalConfig

EMMY = "The 66th Primetime Emmy Awards was hosted by an Iraqi comedian born in 1973."


# With these settings, a hop takes a fraction of a second.
QUICK = {
    "reranker": "bm25",
    "judge": "lexical",
    "beam_size": 4,
    "rerank_documents": 8,
    "title_beams": 0,
    "precision": "fp32",
    "threads": 1,
    "hops": "2",
}


def quick_config(**settings):
    return RetrievalConfig(**{**QUICK, **settings})


@contextmanager
def listening(app, **options):
    """Serve an application during the block, and yield its address; options are uvicorn's."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5, **options)
        server = uvicorn.Server(config)
        sockets = [bound]
        thread = threading.Thread(target=server.run, kwargs={"sockets": sockets}, daemon=True)
        thread.start()
        try:
            while not server.started:
                assert thread.is_alive(), "the server did not start"
                thread.join(0.02)
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
