import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

// A short command spends most of its time on compiling. The cache must not be in a folder that others can write to.
enableCompileCache(join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "moorage", "compiled"));
const { moorage } = await import("./main.ts");
const { createTerminal } = await import("../terminal.ts");

process.exitCode = await moorage(process.argv.slice(2), createTerminal());
