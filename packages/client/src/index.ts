export { ApiError, NoAnswer } from "./api-error.ts";
export { type Client, type ClientOptions, createClient } from "./client.ts";
export { EventFailed, type WaitedFor, type Waiting } from "./wait-for.ts";
