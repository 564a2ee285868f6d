// A source without a coroutine.
