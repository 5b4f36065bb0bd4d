import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";
import type { SettingFields } from "@moorage/contract/settings";

/**
 * Files that the process could not read later. The metadata `reads` says that a setting is the path of a file, or of a
 * folder with the named files.
 */
export function unreadableFiles(fields: SettingFields, config: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const reads = field.meta()?.["reads"] as "file" | readonly string[] | undefined;
    const path = config[name];
    if (reads === undefined || typeof path !== "string") return [];
    const files = reads === "file" ? [path] : reads.map((file) => join(path, file));
    return files.flatMap((file) => {
      const why = whyUnreadable(file);
      return why === undefined ? [] : [`${name}: ${file} ${why}.`];
    });
  });
}

function whyUnreadable(file: string): string | undefined {
  try {
    accessSync(file, constants.R_OK);
    return statSync(file).isDirectory() ? "is a folder, and must be a file" : undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "EACCES" ? "may not be read by this process" : "does not exist";
  }
}
