import { expect, test } from "vitest";
import { memberSpec } from "../testing/node-spec.ts";
import { haproxyConfig } from "./haproxy-config.ts";
import { readSessions, readServers } from "./runtime-socket.ts";

const config = (hasIpv6 = true) =>
  haproxyConfig({ spec: memberSpec(1), socket: "/x/haproxy.sock", checkPort: 19_080, hasIpv6 });

test("a proxy connects to its own member by node address, to others by host address from its cluster address", () => {
  const servers = config()
    .split("\n")
    .filter((line) => line.startsWith("  server "))
    .map((line) => line.trim().split(" check ")[0]);
  const three = [
    "server m0 198.18.77.1:24096 source 198.18.77.2",
    "server m1 198.18.77.64:24096",
    "server m2 198.18.77.3:24096 source 198.18.77.2",
  ];
  expect(servers).toEqual([...three, ...three]);
});

test("each backend's agent-check names the backend and the member's ordinal", () => {
  const queries = [...config().matchAll(/agent-port (\d+) .*agent-send "(\w+) \S+ (\d)\\n"/g)].map((match) =>
    match.slice(1),
  );
  const expected = ["primary", "read"].flatMap((backend) =>
    ["0", "1", "2"].map((ordinal) => ["19081", backend, ordinal]),
  );
  expect(queries).toEqual(expected);
});

test("a proxy on a host without IPv6 listens on IPv4 only", () => {
  expect(config().match(/bind \[::\]:(20000|28192) v6only/g)).toHaveLength(2);
  expect(config(false)).not.toContain("[::]");
});

test("servers are parsed from `show servers state`", () => {
  const answer = `1
# be_id be_name srv_id srv_name srv_addr srv_op_state srv_port srv_fqdn
2 primary 1 m0 198.18.77.1 2 24096 -
3 read 3 m2 198.18.77.3 0 24096 -
`;
  expect(readServers(answer)).toEqual([
    { backend: "primary", server: "m0", address: "198.18.77.1", port: 24_096 },
    { backend: "read", server: "m2", address: "198.18.77.3", port: 24_096 },
  ]);
});

test("client sessions of both families are parsed from `show sess`, without the querying one", () => {
  const answer = `0x556e15cdd010: proto=tcpv4 src=198.18.64.1:44309 fe=primary be=primary srv=m0 ts=00 age=1s
0x556e15dd84c0: proto=tcpv6 src=fd00::1:42915 fe=read be=read srv=m2 ts=00 age=0s
0x556e15dd88b0: proto=unix_stream src=unix:1 fe=GLOBAL be=<NONE> srv=<none> ts=00 age=0s
`;
  expect(readSessions(answer)).toEqual([
    { id: "0x556e15cdd010", source: "198.18.64.1" },
    { id: "0x556e15dd84c0", source: "fd00::1" },
  ]);
});
