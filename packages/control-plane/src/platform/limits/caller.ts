import { isIPv4 } from "node:net";

/** Whose budget a request spends. */
export const callerOf = {
  token: (id: number): string => `token:${id}`,
  anonymous: (ip: string): string => `ip:${networkOf(ip)}`,
  /** Separate from the anonymous budget: reading public lists too often is not guessing tokens. */
  guess: (ip: string): string => `guess:${networkOf(ip)}`,
};

/** One customer of a provider holds a whole IPv6 /64, and could send each request from another of its addresses. */
export function networkOf(ip: string): string {
  const mapped = /^::ffff:([\d.]+)$/i.exec(ip)?.[1];
  if (mapped !== undefined && isIPv4(mapped)) return mapped;
  if (!ip.includes(":")) return ip;
  const [left = "", right] = ip.toLowerCase().replace(/%.*$/, "").split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const head = groups(left);
  const tail = right === undefined ? [] : groups(right);
  const zeros = Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => "0");
  const whole = [...head, ...(right === undefined ? [] : zeros), ...tail];
  return `${whole
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
}
