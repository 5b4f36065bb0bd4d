import { Report, type Verdict } from "./verdict.ts";

/** The verdict on the largest disk is far smaller. */
const MOST_BYTES = 64 * 1024 * 1024;

/** The verdict; undefined if the child ended without one. */
export async function readReports(
  pipe: AsyncIterable<Buffer>,
  progress: (bytes: number) => void,
): Promise<Verdict | undefined> {
  let rest = "";
  for await (const piece of pipe) {
    const lines = (rest + piece.toString("utf8")).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > MOST_BYTES) throw new Error("The importer reported without end.");
    for (const line of lines) {
      const report = Report.parse(JSON.parse(line));
      if (report.kind !== "progress") return report;
      progress(report.bytes);
    }
  }
  return undefined;
}
