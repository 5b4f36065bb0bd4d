import { release } from "@moorage/contract/process";
import { type Logger, pino } from "pino";

export type Log = Logger;

/** The first line says what is running. */
export function createLog(name: string, level: string): Log {
  const log = pino({
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
  log.info(release, "starting");
  return log;
}
