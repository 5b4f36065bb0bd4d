/** Everything that could hold a card: what the stack stores, as its parts show it and as it is on the disk. */
import { DeleteObjectCommand, PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { until } from "@moorage/testkit/until.ts";
import { loopback, ports, s3Bucket, s3Keys, s3Url } from "../../tools/stack/addresses.ts";
import { inStack, mailDir } from "../../tools/stack/paths.ts";
import { everyStore, filesIn, plantFile, psql, type Store } from "./stores.ts";

export async function everyCardStore(traces: Store): Promise<Store[]> {
  return [...(await everyStore()), postgresFiles, temporalHistories, objects, otherFiles, mails, traces];
}

/** Tables, indexes and the write-ahead log: also deleted data, as long as they were not overwritten. */
const postgresFiles: Store = {
  name: "files of postgres and WAL",
  async *stream() {
    await psql("postgres", "checkpoint");
    yield* filesIn(inStack("data", "postgres"));
  },
  async plant(text) {
    await psql("moorage", "create table planted_in_files (words text)");
    await psql("moorage", `insert into planted_in_files values ('${text.replaceAll("'", "''")}')`);
    return () => psql("moorage", "drop table planted_in_files");
  },
};

const workflows = `http://${loopback(ports.temporalHttp)}/api/v1/namespaces/moorage/workflows`;

/** As Temporal returns them; in its database they are binary. */
const temporalHistories: Store = {
  name: "histories of temporal",
  async *stream() {
    for (let token = ""; ; ) {
      const list = await listed(`pageSize=200&nextPageToken=${encodeURIComponent(token)}`);
      for (const { execution } of list.executions ?? []) yield* historyOf(execution);
      token = list.nextPageToken ?? "";
      if (token === "") return;
    }
  },
  async plant(text) {
    const id = `planted-${randomUUID()}`;
    const taskQueue = { name: "nobody-works-here" };
    await temporal(`/${id}`, { workflowType: { name: "planted" }, taskQueue, input: [text] });
    // Temporal lists a workflow a moment after it accepted it.
    const query = encodeURIComponent(`WorkflowId = '${id}'`);
    await until(`${id} is listed`, 30, async () => ((await listed(`query=${query}`)).executions ?? []).length > 0);
    return () => temporal(`/${id}/terminate`, {});
  },
};
type Execution = { workflowId: string; runId: string };

const listed = (query: string) =>
  temporal<{ executions?: { execution: Execution }[]; nextPageToken?: string }>(`?${query}`);

async function* historyOf({ workflowId, runId }: Execution): AsyncIterable<Buffer> {
  for (let token = ""; ; ) {
    const query = `execution.runId=${runId}&nextPageToken=${encodeURIComponent(token)}`;
    const page = await temporal<{ nextPageToken?: string }>(`/${encodeURIComponent(workflowId)}/history?${query}`);
    yield Buffer.from(JSON.stringify(page));
    token = page.nextPageToken ?? "";
    if (token === "") return;
  }
}

async function temporal<T>(path: string, body?: object): Promise<T> {
  const reply = await fetch(`${workflows}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!reply.ok) throw new Error(`Temporal answered ${reply.status}: ${await reply.text()}`);
  return (await reply.json()) as T;
}

const objects: Store = {
  name: "objects of S3",
  stream: () => filesIn(inStack("data", "s3")),
  async plant(text) {
    const client = new S3Client({
      endpoint: s3Url,
      region: "us-east-1",
      forcePathStyle: true,
      credentials: { accessKeyId: s3Keys.access, secretAccessKey: s3Keys.secret },
    });
    const place = { Bucket: s3Bucket, Key: `planted/${randomUUID()}` };
    await client.send(new PutObjectCommand({ ...place, Body: text }));
    return () => client.send(new DeleteObjectCommand(place));
  },
};

/** Including the fake provider's own. */
const otherFiles: Store = {
  name: "other files of the stack",
  stream: () =>
    filesIn(
      ...["dns", "prometheus"].map((name) => inStack("data", name)),
      ...["fake-payments.json", "planted"].map((name) => inStack("data", name)),
      ...["config", "services", "crash"].map((name) => inStack(name)),
      ...["env", "seed.json", "workflow-bundle.js"].map((name) => inStack(name)),
    ),
  plant: (text) => plantFile(inStack("data"), text),
};

const mails: Store = {
  name: "mails",
  stream: () => filesIn(mailDir),
  plant: (text) => plantFile(mailDir, text),
};

/** A fake trace collector, which keeps every byte. */
export async function startTraceSink() {
  const messages: Buffer[] = [];
  const server = createServer((request, reply) => {
    request.on("data", (chunk: Buffer) => void messages.push(chunk));
    request.on("end", () => reply.writeHead(200, { "content-type": "application/json" }).end("{}"));
  });
  await new Promise<void>((resolve) => server.listen(ports.traces, "127.0.0.1", resolve));
  const url = `http://${loopback(ports.traces)}`;
  const text = (): string => Buffer.concat(messages).toString("latin1");
  const store: Store = {
    name: "traces",
    async *stream() {
      yield Buffer.concat(messages);
    },
    async plant(planted) {
      await fetch(`${url}/v1/traces`, { method: "POST", body: planted });
      return async () => {};
    },
  };
  return {
    url,
    store,
    hasSpansOf: (service: string): boolean => text().includes(`moorage-${service}`),
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
