import { expect, test } from "vitest";
import { fencedBlocks } from "./fenced-blocks.ts";

test("a block has its language, its unchanged code and the nearest heading; a comment in it is no heading", () => {
  const document = [
    "# Title",
    "text",
    "## First",
    "```sh",
    "# a comment",
    "",
    "echo 1",
    "```",
    "between",
    "```php",
    "<?php",
    "```",
    "## Second",
    "```go",
    "",
    "```",
    "",
  ].join("\n");

  expect(fencedBlocks(document)).toEqual([
    { heading: "First", language: "sh", code: "# a comment\n\necho 1\n" },
    { heading: "First", language: "php", code: "<?php\n" },
    { heading: "Second", language: "go", code: "\n" },
  ]);
});
