import { readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

/** The file's time is then the time of its last change, which shows what must be restarted. */
export async function writeIfChanged(path: string, text: string, mode = 0o644): Promise<void> {
  if (textOf(path) === text) return;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, mode);
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
