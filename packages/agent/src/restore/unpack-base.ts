import { chown, lchown, mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Recipe } from "@moorage/contract/agent";
import { copyContents, Manifest } from "../archive/manifest.ts";
import type { NodeContext } from "../node/node-context.ts";
import { unpackData } from "../provision/provision-steps.ts";
import { runCommand } from "../base/run-command.ts";
import { ahead, BrokenArchive, readObject, readSmallObject, type RecipeSource } from "./fetch-object.ts";
import { decrypt, runPipe, settlePipe } from "./run-pipe.ts";
import type { Workplace } from "./workplace.ts";

type Progress = (done: number) => void;
type CopyBase = Extract<Recipe["base"], { kind: "copy" }>;

/** Creates the data directory that the logs are applied to; complete and synced when this returns. */
export async function unpackBase(
  context: NodeContext,
  work: Workplace,
  source: RecipeSource,
  signal: AbortSignal,
  progress: Progress,
): Promise<void> {
  const { base } = await source.get();
  await rm(work.data, { recursive: true, force: true });
  if (base.kind === "copy") return unpackCopy(context, work, source, base, signal, progress);
  const { spec, enginesDir } = context;
  await unpackData({ paths: work, spec: { ...spec, engine: { ...spec.engine, prepared: base.sha256 } }, enginesDir });
}

async function unpackCopy(
  { spec }: NodeContext,
  work: Workplace,
  source: RecipeSource,
  { identity, manifest }: CopyBase,
  signal: AbortSignal,
  progress: Progress,
): Promise<void> {
  const copyNow = async (): Promise<CopyBase> => {
    const { base } = await source.get();
    if (base.kind !== "copy") throw new Error("The recipe has changed.");
    return base;
  };
  const renew = source.renew;
  const text = await readSmallObject(
    { name: "The manifest", url: async () => (await copyNow()).manifest.url, renew, sha256: manifest.sha256 },
    signal,
  );
  const { parts } = Manifest.parse(JSON.parse(text));
  async function* bytes(): AsyncGenerator<Buffer | string, void, void> {
    yield `${identity}\n`;
    for (const [index, part] of parts.entries()) {
      const name = `Part ${index + 1} of ${parts.length}`;
      const url = async (): Promise<string> => {
        const address = (await copyNow()).parts[index];
        if (address === undefined) throw new BrokenArchive(`${name} is missing from the recipe.`);
        return address;
      };
      yield* readObject({ name, url, renew, ...part }, signal);
      progress((index + 1) / parts.length);
    }
  }

  const temporary = join(work.volume, "data.tmp");
  const scratch = join(work.volume, "tmp");
  await rm(temporary, { recursive: true, force: true });
  await mkdir(scratch, { recursive: true });
  // The keys of an encrypted copy go beside the volume, never on it.
  const transforms = [
    `s,^${copyContents.data},volume/data.tmp,`,
    `s,^${copyContents.fixedConfig}$,volume/fixed.cnf,`,
    `s,^${copyContents.keyring}$,keyring/keyring,`,
  ].join(";");
  const tar = `tar -x --no-same-owner --transform "$1" -C "$2"`;
  const pipe = runPipe(`${decrypt} | ${tar}`, [transforms, work.folder], signal);
  pipe.stdout.resume();
  await settlePipe(pipe, pipeline(Readable.from(ahead(bytes())), pipe.stdin, { signal }));

  // A copy may contain links that the copied server's user made: none is followed.
  await runCommand("chown", ["--recursive", "--no-dereference", "-P", `${spec.uid}:${spec.uid}`, temporary]);
  await chown(scratch, spec.uid, spec.uid);
  if (spec.database.encrypted) await lchown(join(work.keyring, "keyring"), spec.uid, spec.uid);
  // The server must not reuse the server_uuid of the copied one.
  await rm(join(temporary, "auto.cnf"), { force: true });
  await runCommand("sync", ["--file-system", temporary]);
  await rename(temporary, work.data);
}
