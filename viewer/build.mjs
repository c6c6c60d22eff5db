// Bundle the viewer into the Python package, with the licences of what it contains; `--tests` bundles the tests.

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "..", "src", "quiltwork", "view", "static");

/** Ways to turn text into markup or code: none may be in the bundle, in our code or in a library's. */
const FORBIDDEN = /\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|new Function|eval\()/;

if (process.argv.includes("--tests")) await buildTests();
else await buildPage();

async function buildPage() {
  await mkdir(target, { recursive: true });
  const common = { bundle: true, minify: true, legalComments: "none", charset: "utf8", logLevel: "warning" };
  const { metafile } = await build({
    ...common,
    entryPoints: [join(here, "src", "main.ts")],
    outfile: join(target, "app.js"),
    format: "esm",
    target: ["es2022"],
    metafile: true,
  });
  await build({ ...common, entryPoints: [join(here, "style", "app.css")], outfile: join(target, "app.css") });
  await writeFile(join(target, "index.html"), await readFile(join(here, "index.html")));
  const program = await readFile(join(target, "app.js"), "utf8");
  const found = program.match(FORBIDDEN);
  if (found) throw new Error(`The bundle contains ${found[0]}, which turns text into markup or code.`);
  const terms = await licences(metafile);
  await writeFile(join(target, "licences.txt"), terms);
  const bundle = `${program}/*\n${terms.replaceAll("*/", "* /")}*/\n`; // a file that is mailed must carry them too
  await writeFile(join(target, "app.js"), bundle);
  console.log(`Built the viewer: app.js has ${Math.round(bundle.length / 1024)} KB.`);
}

/** Name, version and licence text of every package that went into the bundle. */
async function licences(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const match = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (match) packages.add(match[1]);
  }
  const parts = ["The viewer's bundle contains these packages.\n"];
  for (const name of [...packages].sort()) {
    const folder = join(here, "node_modules", name);
    const { version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? await readFile(join(folder, file), "utf8") : `Licence: ${license}\n`;
    parts.push(`${"=".repeat(72)}\n${name} ${version} (${license})\n\n${text.trim()}\n`);
  }
  return parts.join("\n");
}

async function buildTests() {
  const out = join(here, "build", "tests");
  await rm(out, { recursive: true, force: true });
  const tests = (await readdir(join(here, "test"))).filter((name) => name.endsWith(".test.ts"));
  await build({
    entryPoints: tests.map((name) => join(here, "test", name)),
    outdir: out,
    bundle: true,
    platform: "node",
    format: "esm",
    target: ["node20"],
    outExtension: { ".js": ".mjs" },
    logLevel: "warning",
  });
}
