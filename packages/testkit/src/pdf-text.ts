import { inflateSync } from "node:zlib";

/** The text that a reader can search and copy: each font maps its glyphs to letters. */
export function textOfPdf(pdf: Uint8Array): string {
  const whole = Buffer.from(pdf).toString("latin1");
  const objects = new Map(
    [...whole.matchAll(/^(\d+) 0 obj\n([\s\S]*?)\nendobj/gm)].map(([, id, body]) => [Number(id), body as string]),
  );
  const referred = (body: string, name: string): number => Number(new RegExp(`/${name} (\\d+) 0 R`).exec(body)?.[1]);
  const fonts = new Map(
    [...whole.matchAll(/\/(F\d+) (\d+) 0 R/g)].map(([, name, id]) => {
      const font = objects.get(Number(id)) ?? "";
      return [name as string, lettersOf(streamOf(objects.get(referred(font, "ToUnicode")) ?? ""))];
    }),
  );
  return [...objects.values()]
    .map(streamOf)
    .filter((content) => content.includes(" Tf"))
    .map((content) => textOfPage(content, fonts))
    .join("\n");
}

function streamOf(body: string): string {
  const [, dictionary = "", raw = ""] = /^([\s\S]*?)\nstream\n([\s\S]*?)\nendstream/.exec(body) ?? [];
  if (!dictionary.includes("/FlateDecode")) return raw;
  return inflateSync(Buffer.from(raw, "latin1")).toString("latin1");
}

const lettersOf = (map: string): string[] =>
  [...map.matchAll(/^<([0-9a-f]{4})> <[0-9a-f]{4}> \[([^\]]*)\]/gim)].flatMap(([, first, letters = ""]) => {
    const found: string[] = [];
    for (const [at, [, code = ""]] of [...letters.matchAll(/<([0-9a-f ]+)>/gi)].entries())
      found[Number.parseInt(first as string, 16) + at] = Buffer.from(code.replaceAll(" ", ""), "hex")
        .swap16()
        .toString("utf16le");
    return found;
  });

function textOfPage(content: string, fonts: Map<string, string[]>): string {
  let letters: string[] = [];
  const lines: string[] = [];
  for (const [, font, shown] of content.matchAll(/\/(F\d+) [\d.]+ Tf|\[([^\]]*)\] TJ/g)) {
    if (font !== undefined) letters = fonts.get(font) ?? [];
    else
      lines.push(
        [...(shown as string).matchAll(/<([0-9a-f]+)>/gi)]
          .flatMap(([, hex]) => (hex as string).match(/.{4}/g) ?? [])
          .map((glyph) => letters[Number.parseInt(glyph, 16)] ?? "?")
          .join(""),
      );
  }
  return lines.join("\n");
}
