export { ApiError } from "./api-error.ts";
export { type Client, createClient } from "./client.ts";
export { EventFailed, type WaitedFor } from "./wait-for.ts";
