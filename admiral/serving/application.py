"""The FastAPI application of `admiral serve`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

from fastapi import FastAPI, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool

import admiral
from admiral.serving import kb_routes, page_audits, retrieval_routes
from admiral.serving.access import AccessMiddleware
from admiral.serving.page_audits import PageAudits
from admiral.serving.problems import PROBLEM_RESPONSE, handle_problems
from admiral.serving.request_metrics import RequestMetrics
from admiral.serving.service import Service

ROUTERS = (
    retrieval_routes.router,
    retrieval_routes.citations,
    page_audits.router,
    kb_routes.router,
    kb_routes.health,
    page_audits.pages,
)


def create_app(
    service: Service,
    api_keys: Sequence[bytes] = (),
    hosts: Collection[str] | None = None,
    audits: PageAudits | None = None,
) -> FastAPI:
    """Return the application; it closes the service and the audits when it shuts down.

    Parameters
    ----------
    service
        The open knowledge bases.
    api_keys
        Keys of which each request must give one; none for no check.
    hosts
        As for `AccessMiddleware`.
    audits
        Audits the pages that are sent; None to refuse them.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        if audits is not None:
            await run_in_threadpool(audits.close)
        await run_in_threadpool(service.close)

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
    app.state.service, app.state.audits = service, audits
    metrics = app.state.metrics = RequestMetrics(service)
    for router in ROUTERS:
        app.include_router(router)

    @app.get("/metrics", tags=["health"], response_class=PlainTextResponse)
    def read_metrics() -> Response:
        """Return the metrics of the service in the format of Prometheus."""
        return Response(metrics.text(), media_type=CONTENT_TYPE_LATEST)

    handle_problems(app)
    app.add_middleware(
        AccessMiddleware,
        api_keys=api_keys,
        limits=service.limits,
        metrics=metrics,
        hosts=hosts,
    )
    return app
