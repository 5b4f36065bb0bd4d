import { isHealthy, pidOf, services } from "./control.ts";
import { logFile } from "./supervisor.ts";

export async function status(): Promise<void> {
  const all = await services();
  const rows = await Promise.all(
    all.map(async ({ name, address }) => {
      const pid = pidOf(name);
      const state = pid === undefined ? "stopped" : (await isHealthy(name)) ? "healthy" : "not healthy";
      return [name, state, String(pid ?? ""), address, logFile(name)];
    }),
  );
  printTable([["service", "state", "pid", "address", "log"], ...rows]);
  if (rows.some((row) => row[1] !== "healthy")) process.exitCode = 1;
}

function printTable(rows: readonly string[][]): void {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of rows)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}
