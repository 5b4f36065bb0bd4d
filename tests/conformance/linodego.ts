import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { inParts } from "../../tools/stack/places.ts";
import { env } from "../kit/stack-env.ts";
import type { Checks } from "./checks.ts";
import { accountOf } from "./fuzz-account.ts";
import { DISK_MB, diskFile } from "./machine-things.ts";
import { newCompute, newInvoice } from "./money-things.ts";

type Line = { check: string; ok: boolean; found: string };

/** `linodego/main.go`, built by `bin/setup`, reports one JSON line per check. */
export async function withLinodego({ note }: Checks): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "moorage-linodego-"));
  try {
    await runIn(folder, note);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function runIn(folder: string, note: Checks["note"]): Promise<void> {
  const label = `go-${Date.now().toString(36)}`;
  const paying = await accountOf(`${label}-payer`);
  const child = spawn(inParts("bin", "conformance-linodego"), {
    env: {
      LINODE_URL: env("MOORAGE_URL"),
      LINODE_API_VERSION: "v4",
      LINODE_TOKEN: env("MOORAGE_TOKEN"),
      OTHER_TOKEN: env("MOORAGE_OTHER_TOKEN"),
      REGION: env("MOORAGE_REGION"),
      TYPE: env("MOORAGE_TYPE"),
      ENGINE: env("MOORAGE_ENGINE"),
      LABEL: label,
      ACCOUNT_TOKEN: paying.token,
      INVOICE: String(await newInvoice(paying.id)),
      COMPUTE: String(await newCompute(paying.id)),
      OTHER_COMPUTE: String(await newCompute(paying.id)),
      IMAGE_FILE: await diskFile(folder, "disk.img.gz"),
      IMAGE_MB: String(DISK_MB),
      MACHINE: env("MOORAGE_COMPUTE"),
      MACHINE_DISK: env("MOORAGE_DISK"),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise<number | null>((resolve, reject) => child.on("close", resolve).on("error", reject));
  // A program that cannot be started is told by `ended`, below.
  ended.catch(() => undefined);
  for await (const text of createInterface(child.stdout)) {
    const { check, ok, found } = JSON.parse(text) as Line;
    note(check, ok, ok ? "" : found);
  }
  const code = await ended;
  note("the program came to its end", code === 0, code === 0 ? "" : `exit code ${code}`);
}
