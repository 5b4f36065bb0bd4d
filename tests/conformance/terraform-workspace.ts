import { spawn } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Checks } from "./checks.ts";

/** Terraform's JSON syntax: kind, then type, then name. */
type Blocks = Record<string, Record<string, object>>;
export type Configuration = { resource?: Blocks; data?: Blocks };

type Ran = { code: number | null; output: string };
type State = { resources: { mode: string; type: string; name: string; instances: { attributes: Attributes }[] }[] };
type Attributes = Record<string, unknown>;

/** A tenant's Terraform state, and the result of each command on it. */
export type Workspace = {
  /** Applies the configuration, which must make this many changes; the next plan must be empty. */
  apply(step: string, configuration: Configuration, changes: string, ...options: string[]): Promise<boolean>;
  /** Forgets a resource and imports it again by its id alone; the plan must be empty. */
  importAgain(step: string, address: string, id: string): Promise<boolean>;
  destroy(step: string, count: number): Promise<boolean>;
  /** Applies a configuration that must fail, and returns Terraform's output. */
  fails(configuration: Configuration): Promise<string>;
  attributes(address: string): Promise<Attributes>;
};

type Settings = { folder: string; name: string; rc: string; url: string; token: string };

export async function newWorkspace(settings: Settings, { note }: Checks): Promise<Workspace> {
  const folder = join(settings.folder, settings.name);
  await mkdir(folder);
  const terraform = (...args: string[]): Promise<Ran> => runTerraform(folder, settings.rc, args);
  const write = (configuration: Configuration): Promise<void> =>
    writeFile(join(folder, "main.tf.json"), JSON.stringify({ ...head(settings), ...configuration }, undefined, 2));
  const named = (step: string): string => `${settings.name}: ${step}`;
  const noted = (step: string, passed: boolean, { output }: Ran): boolean =>
    note(named(step), passed, passed ? "" : explained(output));

  const planIsEmpty = async (after: string): Promise<boolean> => {
    const plan = await terraform("plan", "-detailed-exitcode");
    return noted(`${after}: the plan is empty`, plan.code === 0, plan);
  };
  const ends = async (step: string, line: string, args: string[]): Promise<boolean> => {
    const ran = await terraform(...args);
    return noted(step, ran.code === 0 && ran.output.includes(line), ran);
  };
  return {
    async apply(step, configuration, changes, ...options) {
      await write(configuration);
      const applied = await ends(step, `Resources: ${changes}.`, ["apply", "-auto-approve", ...options]);
      return applied && (await planIsEmpty(step));
    },
    async importAgain(step, address, id) {
      const imported =
        (await ends(`${step}: forget`, "Successfully removed", ["state", "rm", address])) &&
        (await ends(step, "Import successful!", ["import", address, id]));
      return imported && (await planIsEmpty(step));
    },
    destroy: (step, count) => ends(step, `Resources: ${count} destroyed.`, ["destroy", "-auto-approve"]),
    async fails(configuration) {
      await write(configuration);
      const { code, output } = await terraform("apply", "-auto-approve");
      return code === 0 ? "" : output;
    },
    async attributes(address) {
      const [type, name] = address.split(".");
      const { resources } = JSON.parse(await readFile(join(folder, "terraform.tfstate"), "utf8")) as State;
      const found = resources.find((each) => each.mode === "managed" && each.type === type && each.name === name);
      if (found?.instances[0] === undefined) throw new Error(`${address} is not in the state`);
      return found.instances[0].attributes;
    },
  };
}

const head = ({ url, token }: Settings) => ({
  terraform: { required_providers: { linode: { source: "linode/linode" } } },
  provider: { linode: { url, token, event_poll_ms: 500 } },
});

function runTerraform(cwd: string, rc: string, args: string[]): Promise<Ran> {
  const [command = "", ...rest] = args;
  const child = spawn("terraform", [command, ...(command === "state" ? [] : ["-input=false", "-no-color"]), ...rest], {
    cwd,
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: cwd,
      TF_CLI_CONFIG_FILE: rc,
      TF_IN_AUTOMATION: "1",
      CHECKPOINT_DISABLE: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  return new Promise((resolve, reject) => {
    child.on("error", reject).on("close", (code) => resolve({ code, output }));
  });
}

/** The relevant lines of the output: a crash, a refusal, or what a plan would change. */
function explained(output: string): string {
  const relevant = output
    .split("\n")
    .filter((line) =>
      /panic:|^\s*│?\s*Error:|\[\d{3}\]|forces replacement|^\s+([~+-]|-\/\+) (?!linode\/)\w+|^Plan:|inconsistent/.test(
        line,
      ),
    );
  return (relevant.length === 0 ? output.trim().split("\n").slice(-12) : relevant.slice(0, 20)).join("\n  ");
}
