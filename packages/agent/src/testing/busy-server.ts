import { rmSync } from "node:fs";
import { join } from "node:path";
import { copyUnderWay } from "../mysql/node-sql.ts";
import { withPatientRoot } from "./patient-root.ts";
import { until } from "./test-host.ts";

/**
 * A server that copies its own data repeatedly until `end`: other copies have to wait meanwhile.
 *
 *   const busy = keepBusy({ socket, volume });  await busy.copies(3);  await busy.end();
 */
export function keepBusy({ socket, volume }: { socket: string; volume: string }) {
  let isActive = true;
  let made = 0;
  const copy = () =>
    withPatientRoot(socket, (connection) => connection.query("CLONE LOCAL DATA DIRECTORY = '/volume/tmp/busy'")).then(
      () => (made += 1),
      (error: { errno?: number }) => {
        if (error.errno !== copyUnderWay) throw error;
      },
    );
  const done = (async () => {
    while (isActive) {
      await copy();
      rmSync(join(volume, "tmp", "busy"), { recursive: true, force: true });
    }
  })();
  return {
    copies(count: number): Promise<void> {
      const enough = made + count;
      return until(`${count} copies more`, () => made >= enough);
    },
    end(): Promise<void> {
      isActive = false;
      return done;
    },
  };
}
