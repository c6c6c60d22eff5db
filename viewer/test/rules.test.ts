/** House rules of the viewer, as programs: names never become markup, and no file says where packages come from. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

const root = process.cwd();
const MARKUP =
  /\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write(ln)?|DOMParser|createContextualFragment|srcdoc|eval|new Function|setHTMLUnsafe)\b/;

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? sources(join(folder, entry.name)) : [join(folder, entry.name)],
  );
}

/** Lines of code, without comments, that turn text into markup or programs. */
function faults(code: string): string[] {
  const bare = code.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
  return bare.split("\n").filter((line) => MARKUP.test(line));
}

test("text never becomes markup", () => {
  const files = sources("src");
  assert.ok(files.length > 20);
  for (const file of files) assert.deepEqual(faults(readFileSync(join(root, file), "utf8")), [], file);
});

test("the rule sees a fault", () => {
  assert.equal(faults("node.innerHTML = name; // text").length, 1);
  assert.equal(faults("// no innerHTML here\nconst a = 1;").length, 0);
});

test("a file is read in one sitting", () => {
  for (const file of sources("src")) assert.ok(readFileSync(join(root, file), "utf8").split("\n").length <= 400, file);
});

test("versions are exact, and the lock says nothing of where packages come from", () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  for (const version of Object.values<string>({ ...dependencies, ...devDependencies }))
    assert.match(version, /^\d+\.\d+\.\d+$/);
  for (const file of ["package-lock.json", ".npmrc"])
    assert.doesNotMatch(readFileSync(join(root, file), "utf8"), /"resolved"|registry\s*=/);
  assert.deepEqual(Object.keys(dependencies).sort(), ["d3-hierarchy", "graphology", "sigma"]);
});
