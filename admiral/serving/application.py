"""The FastAPI application of `admiral serve`, and the server that runs it."""

from __future__ import annotations

import json
import logging
import resource
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import uvicorn
from fastapi import FastAPI, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp

import admiral
from admiral.serving import access, document_uploads, page_audits, pages, retrieval_routes
from admiral.serving.document_uploads import Uploads
from admiral.serving.page_audits import PageAudits
from admiral.serving.problems import PROBLEM_RESPONSE, handle_problems
from admiral.serving.service import Service


def create_app(
    service: Service,
    api_keys: Sequence[bytes] = (),
    hosts: Collection[str] | None = None,
    audits: PageAudits | None = None,
    uploads: Uploads | None = None,
) -> FastAPI:
    """Return the application; it closes what it is given when it shuts down.

    `service`: the open knowledge bases. `api_keys`, `hosts`: as for `AccessMiddleware`. `audits`:
    audits the pages that are sent; None to refuse them. `uploads`: makes knowledge bases of files;
    None to refuse them.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(service.close)
        if audits is not None:
            await run_in_threadpool(audits.close)

    app = FastAPI(
        title="AdMIRaL",
        version=admiral.__version__,
        description="Multi-hop retrieval of documents and evidence that verify claims.",
        lifespan=lifespan,
        # Their pages load scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        responses={"4XX": PROBLEM_RESPONSE, "5XX": PROBLEM_RESPONSE},
    )
    app.state.service, app.state.audits, app.state.uploads = service, audits, uploads
    for router in (
        *(retrieval_routes.router, retrieval_routes.citations, page_audits.router),
        *(retrieval_routes.documents, document_uploads.router, retrieval_routes.health),
        pages.router,
    ):
        app.include_router(router)

    @app.get("/metrics", tags=["health"], response_class=PlainTextResponse)
    def read_metrics() -> Response:
        """Return the metrics of the service in the format of Prometheus."""
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    handle_problems(app)
    body_bytes = {
        page_audits.AUDITS: page_audits.PAGE_BYTES if audits else access.BODY_BYTES,
        document_uploads.UPLOADS: document_uploads.UPLOAD_BYTES if uploads else access.BODY_BYTES,
    }
    app.add_middleware(access.AccessMiddleware, api_keys, hosts, body_bytes)
    return app


class JsonLines(logging.Formatter):
    """Lines of a log as JSON, with the time."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, with the `fields` of the record if it has any."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def log_as_json() -> None:
    """Write the log as JSON Lines from now on, with a line for each request."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonLines())
    logging.getLogger("admiral.serving").setLevel(logging.INFO)


def serve_application(app: ASGIApp, host: str, port: int) -> None:
    """Answer requests until the process is asked to end."""
    # Each connection is an open file.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    uvicorn.run(
        app,
        host=host,
        port=port,
        lifespan="on",
        log_config=None,  # uvicorn logs to the same place
        log_level="info",
        # The middleware logs requests; this log would hold titles and words of queries.
        access_log=False,
    )
