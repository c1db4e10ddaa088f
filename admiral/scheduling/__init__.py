"""Schedule claims: batches, the asyncio interface, closing, threads and memory."""
