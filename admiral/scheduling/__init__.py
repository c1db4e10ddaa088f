"""Claims in flight: batches, the in-flight window, asyncio, closing, threads, memory."""
