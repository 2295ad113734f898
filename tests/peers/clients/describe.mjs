// Says what the TypeScript library has, as JSON: operations, objects, filters, words. The arguments are its folder and a
// folder of npm packages.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [, , folder, modules] = process.argv;
const ts = createRequire(join(modules, "x.js"))("typescript");
const FILTERS = ["TaskFilter", "TaskSearch", "EventFilter", "ApprovalFilter", "LogFilter", "DeliveryFilter", "Page"];

const parse = (name) =>
  ts.createSourceFile(name, readFileSync(join(folder, "src", name), "utf8"), ts.ScriptTarget.Latest, true);
const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const members = (node) => node.members.map((member) => member.name?.getText());

function texts(node, found = []) {
  if (ts.isStringLiteral(node)) found.push(node.text);
  ts.forEachChild(node, (child) => void texts(child, found));
  return found;
}

/** Each method that names a path, by the name under which a client has it. */
function operations() {
  const classes = new Map(parse("client.ts").statements.filter(ts.isClassDeclaration).map((each) => [each.name.text, each]));
  const found = {};
  for (const property of classes.get("Client").members.filter(ts.isPropertyDeclaration)) {
    if (!property.initializer) continue;
    const resource = classes.get(property.initializer.expression.getText());
    for (const method of resource.members.filter(ts.isMethodDeclaration)) {
      const named = texts(method);
      const path = named.find((text) => text.startsWith("/v1/"));
      const verb = named.find((text) => /^(GET|POST|PUT|PATCH|DELETE)$/.test(text)) ?? "GET";
      if (path) found[`${snake(property.name.text)}.${snake(method.name.text)}`] = `${verb} ${path}`;
    }
  }
  return found;
}

function objects(source) {
  const interfaces = new Map(source.statements.filter(ts.isInterfaceDeclaration).map((each) => [each.name.text, each]));
  const fields = (node) => [
    ...(node.heritageClauses ?? []).flatMap((clause) => clause.types).flatMap((base) => fields(interfaces.get(base.getText()))),
    ...members(node),
  ];
  return Object.fromEntries([...interfaces].map(([name, node]) => [name, fields(node)]));
}

/** `export const STATUS = [...] as const; export type Status = Known<typeof STATUS>;` */
function words(source) {
  const lists = new Map();
  for (const statement of source.statements.filter(ts.isVariableStatement))
    for (const each of statement.declarationList.declarations) lists.set(each.name.text, texts(each.initializer));
  const found = {};
  for (const alias of source.statements.filter(ts.isTypeAliasDeclaration)) {
    const list = /^Known<typeof (\w+)>$/.exec(alias.type.getText());
    if (list) found[alias.name.text] = lists.get(list[1]);
  }
  return found;
}

const source = parse("objects.ts");
const every = objects(source);
const known = words(source);
const { ERRORS } = await import(join(folder, "dist/index.js"));
if (String(Object.keys(ERRORS)) !== String(known.ErrorCode)) throw new Error("each code needs a class, in the same order");
const pick = (isWanted) => Object.fromEntries(Object.entries(every).filter(([name]) => isWanted(name)));
console.log(
  JSON.stringify({
    operations: operations(),
    objects: pick((name) => !FILTERS.includes(name)),
    filters: pick((name) => FILTERS.includes(name)),
    words: known,
  }),
);
