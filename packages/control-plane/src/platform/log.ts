import { type Logger, pino } from "pino";

export type Log = Logger;

export const createLog = (name: string, level: string): Log =>
  pino({
    name,
    level,
    redact: [
      ...["authorization", "cookie", '["idempotency-key"]'].flatMap((header) => {
        const last = header.startsWith("[") ? header : `.${header}`;
        return [`headers${last}`, `*.headers${last}`];
      }),
      ...["password", "admin_password", "token", "enrol_token", "access_token", "refresh_token", "secret"].flatMap(
        (field) => [field, `*.${field}`],
      ),
    ],
  });
