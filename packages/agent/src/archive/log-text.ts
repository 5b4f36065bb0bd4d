import { createHash } from "node:crypto";
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Transform } from "node:stream";
import { archiveFolder } from "../encryption/temporary.ts";
import type { HostPaths } from "../base/host-paths.ts";
import { containerName, type Podman } from "../node/podman.ts";
import { runCommand } from "../base/run-command.ts";
import type { ArchivedNode } from "./archived-node.ts";
import { outputOf, sealTo } from "./sealed-output.ts";

export type SealedLog = { path: string; bytes: number; sha256: string; md5: string };

const keptOfErrors = 2000;

type Deps = { host: HostPaths; podman: Podman };
/** `logs` are arguments of mysqlbinlog, options included; `name` is the base name of the pipe and the sealed file. */
type Text = { name: string; logs: readonly string[]; reader?: Transform | undefined };

/** Seals the text of a closed binary log. `reader` sees the text in clear and passes it on unchanged. */
export const sealLog = (deps: Deps, node: ArchivedNode, log: string, signal: AbortSignal, reader?: Transform) =>
  sealText(deps, node, { name: log, logs: [log], reader }, signal);

/**
 * Seals the text of binary logs into a file on the host, to be uploaded. mysqlbinlog reads them through the server, so
 * they may be encrypted. The text goes from the server's container through a named pipe to the programs that seal it
 * and is never on a disk in clear.
 */
export async function sealText(
  { host, podman }: Deps,
  node: ArchivedNode,
  text: Text,
  signal: AbortSignal,
): Promise<SealedLog> {
  const folder = join(host.scratch, node.spec.node);
  const [pipe, path] = [join(folder, `${text.name}.pipe`), join(folder, `${text.name}.sealed`)];
  await mkdir(folder, { recursive: true, mode: 0o711 });
  await removeSealedLog({ path });
  await rm(pipe, { force: true });
  await runCommand("mkfifo", ["-m", "600", pipe]);
  const failure = new AbortController();
  const ended = AbortSignal.any([signal, failure.signal]);
  // If one side failed, the other would wait forever at its end of the pipe.
  const ends = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      failure.abort(error);
      throw error;
    });
  const sealed = ends(seal(sealedText(pipe, node.archive.recipient, ended, text.reader), path));
  const written = ends(writeText(podman, node, text, ended));
  try {
    return (await Promise.all([sealed, written]))[0];
  } catch (error) {
    await Promise.allSettled([sealed, written]);
    await removeSealedLog({ path });
    throw error;
  } finally {
    await rm(pipe, { force: true });
  }
}

export const removeSealedLog = ({ path }: { path: string }): Promise<void> => rm(path, { force: true });

function sealedText(pipe: string, recipient: string, signal: AbortSignal, reader?: Transform): AsyncGenerator<Buffer> {
  if (reader === undefined) return outputOf(`< "$1" ${sealTo('"$2"')}`, [pipe, recipient], { signal });
  const from = kept(outputOf('exec cat "$1"', [pipe], { signal }));
  return outputOf(sealTo('"$1"'), [recipient], { signal, input: { from, through: reader } });
}

/** Copies each chunk: outputOf releases a chunk when the next one is requested. */
async function* kept(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) yield Buffer.from(chunk);
}

async function seal(text: AsyncIterable<Buffer>, path: string): Promise<SealedLog> {
  const [sha256, md5] = [createHash("sha256"), createHash("md5")];
  const file = await open(path, "w", 0o600);
  let bytes = 0;
  try {
    for await (const chunk of text) {
      await file.writeFile(chunk);
      sha256.update(chunk);
      md5.update(chunk);
      bytes += chunk.length;
    }
  } finally {
    await file.close();
  }
  return { path, bytes, sha256: sha256.digest("hex"), md5: md5.digest("base64") };
}

/**
 * mysqlbinlog keeps a whole statement in temporary files before it writes it, however large, so it needs disk space.
 * For an encrypted node that is the file system of the server's own temporary files, which the kernel encrypts.
 * mysqlbinlog exits with 0 even if it could not write such a file: any output on stderr is a failure.
 */
async function writeText(
  { client }: Podman,
  node: ArchivedNode,
  { name, logs }: Text,
  signal: AbortSignal,
): Promise<void> {
  const temporary = temporaryFolder(node);
  const exec = await client.getContainer(containerName(node.spec.node)).exec({
    // The group gives access to the socket's folder; the server authenticates root by the socket's peer user.
    User: `0:${node.spec.uid}`,
    Env: [`TMPDIR=${temporary}`],
    Cmd: [
      "mysqlbinlog",
      "--no-defaults",
      "--read-from-remote-server",
      "--socket=/run/mysqld/mysqld.sock",
      "--user=root",
      `--result-file=/scratch/${name}.pipe`,
      ...logs,
    ],
    AttachStdout: false,
    AttachStderr: true,
  });
  signal.throwIfAborted();
  const stream = await exec.start({ hijack: true, stdin: false });
  const end = () => void exec.inspect().then(({ Running, Pid }) => Running && Pid > 0 && process.kill(Pid, "SIGKILL"));
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  let errorOutput = "";
  for await (const chunk of stream as AsyncIterable<Buffer>)
    if (errorOutput.length < keptOfErrors) errorOutput += chunk.toString("utf8");
  signal.removeEventListener("abort", end);
  const { ExitCode: code } = await exec.inspect();
  // Frames of podman's stream begin with a binary header.
  const text = errorOutput.replaceAll(/[^\x20-\x7e\n]+/g, "").trim();
  if (code !== 0 || text !== "") throw new Error(`mysqlbinlog of ${name} ended with ${code}: ${text.slice(0, 500)}`);
}

/** Made with the file system, which may be replaced at this moment: a folder that is made here could be in its way. */
const temporaryFolder = ({ spec }: ArchivedNode): string =>
  spec.database.encrypted ? `/temporary/${archiveFolder}` : "/scratch";
