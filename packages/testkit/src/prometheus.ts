import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeFolder } from "./folders.ts";
import { freePort } from "./free-port.ts";

/** A real Prometheus that scrapes `text` every second. */
export async function startPrometheus(text: () => string) {
  const folder = mkdtempSync(join(tmpdir(), "moorage-prometheus-"));
  const scraped = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/plain; version=0.0.4" }).end(text());
  });
  await new Promise<void>((resolve) => scraped.listen(0, "127.0.0.1", resolve));
  const { port } = scraped.address() as AddressInfo;
  const config = join(folder, "prometheus.yml");
  writeFileSync(
    config,
    `global: { scrape_interval: 1s }
scrape_configs: [{ job_name: databases, static_configs: [{ targets: ["127.0.0.1:${port}"] }] }]
`,
  );
  const url = `http://127.0.0.1:${await freePort()}`;
  const options = [`--config.file=${config}`, `--storage.tsdb.path=${folder}/data`];
  const server = spawn("prometheus", [...options, `--web.listen-address=${url.slice("http://".length)}`], {
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  while (!(await fetch(`${url}/-/ready`).catch(() => undefined))?.ok)
    await new Promise((resolve) => setTimeout(resolve, 100));
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.kill("SIGTERM");
      await ended;
      scraped.closeAllConnections();
      scraped.close();
      removeFolder(folder);
    },
  };
}
