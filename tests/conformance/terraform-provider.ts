import { execFile, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { chmod, copyFile, mkdir, readdir, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { repo } from "../../tools/stack/paths.ts";

const run = promisify(execFile);

/** The API family's Terraform provider, as published: a file for each version, packed with xz or not. */
export type Provider = { version: string; file: string };

const NAME = /^terraform-provider-linode[-_]v?(?<version>\d+\.\d+\.\d+)(\.xz)?$/;
const place = (): string =>
  process.env["MOORAGE_TERRAFORM_PROVIDER"] ?? join(repo, "..", "shared", "tools", "terraform");

/** The newest first; or why the real provider cannot be run here. */
export async function findProviders(): Promise<Provider[] | string> {
  const at = place();
  const kind = await stat(at).catch(() => undefined);
  const files = kind === undefined ? [] : kind.isDirectory() ? (await readdir(at)).map((name) => join(at, name)) : [at];
  const found = files.flatMap((file) => {
    const version = NAME.exec(basename(file))?.groups?.["version"];
    return version === undefined ? [] : [{ version, file }];
  });
  if (found.length === 0)
    return "no Terraform provider here: MOORAGE_TERRAFORM_PROVIDER names a folder with terraform-provider-linode-v<version>[.xz], or one such file";
  const terraform = await run("terraform", ["version"]).catch(() => undefined);
  if (terraform === undefined) return "no terraform on the PATH";
  return found.toSorted((a, b) => b.version.localeCompare(a.version, "en", { numeric: true }));
}

/** Installs the provider where Terraform finds it without a registry; returns the path of the settings file. */
export async function installProvider({ file }: Provider, folder: string): Promise<string> {
  const plugins = join(folder, "plugins");
  await mkdir(plugins);
  const program = join(plugins, "terraform-provider-linode");
  if (file.endsWith(".xz")) await unpack(file, program);
  else await copyFile(file, program);
  await chmod(program, 0o755);
  const settings = join(folder, "terraformrc");
  await writeFile(
    settings,
    `provider_installation {\n  dev_overrides { "linode/linode" = "${plugins}" }\n  direct {}\n}\ndisable_checkpoint = true\n`,
  );
  return settings;
}

async function unpack(from: string, to: string): Promise<void> {
  const xz = spawn("xz", ["--decompress", "--stdout", from], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve, reject) => xz.on("close", resolve).on("error", reject));
  await pipeline(xz.stdout, createWriteStream(to));
  if ((await ended) !== 0) throw new Error(`${from} cannot be unpacked`);
}
