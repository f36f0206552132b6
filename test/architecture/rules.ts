// The rules of the house as pure functions: source files in, sentences about what is wrong out.
import { builtinModules } from 'node:module';
import path from 'node:path';
import { covers, type ImportTable } from './import-table.ts';
import { importsOf, roomOf, type SourceFile } from './source-tree.ts';

/** Files that may pass names of other files on. */
const barrels: readonly string[] = ['index.ts', 'testing/index.ts'];

/** The only room that loads modules by names it learns while running: plugins, event listeners and backends. */
const loaderRoom = 'loader';

/** Rooms with values and rules only. Code that accesses files, sockets or processes is in other rooms. */
const pureRooms: readonly string[] = ['base', 'core', 'contracts', 'engine', 'resources'];
const outsideWorld = /^node:(?:fs|net|tls|http2?|https|dns|dgram|child_process|cluster|worker_threads|os)(?:\/|$)/;

const lineLimit = 400;
const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Imports that the table does not allow, between rooms and of packages. */
export function findForbiddenImports(files: readonly SourceFile[], table: ImportTable): readonly string[] {
  return files.flatMap((file) =>
    importsOf(file.text).flatMap(({ specifier }) => {
      if (specifier === undefined) {
        return roomOf(file.path) === loaderRoom ? [] : [`${file.path} imports a computed name`];
      }
      const problem = specifier.startsWith('.')
        ? checkRelative(file.path, specifier, table)
        : checkPackage(file.path, specifier, table);
      return problem === undefined ? [] : [`${file.path} imports ${specifier}: ${problem}`];
    }),
  );
}

function checkRelative(file: string, specifier: string, table: ImportTable): string | undefined {
  const target = path.posix.join(path.posix.dirname(file), specifier);
  if (target.startsWith('..')) return 'it lies outside of src';
  if (!target.endsWith('.ts')) return 'a relative import names the file, with .ts';
  const from = roomOf(file);
  const to = roomOf(target);
  if (from === to) return undefined;
  const allowed = table.rooms.get(from) ?? table.rooms.get(`${path.posix.dirname(from)}/*`);
  if (allowed === undefined) return `the room ${from} has no row in the table`;
  // The row of a family does not allow imports from other members of the family.
  return allowed.includes(to) || allowed.includes(`${path.posix.dirname(to)}/*`)
    ? undefined
    : `${from} may not import ${to}`;
}

function checkPackage(file: string, specifier: string, table: ImportTable): string | undefined {
  if (specifier.startsWith('node:')) {
    const isPure = pureRooms.includes(roomOf(file)) && outsideWorld.test(specifier);
    return isPure ? `${roomOf(file)} does not touch the outside world` : undefined;
  }
  if (builtinModules.includes(specifier)) return 'modules of Node are imported with node:';
  const name = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  const places = table.packages.get(name);
  if (places === undefined) return `the package ${name} has no row in the table`;
  return covers(places, path.posix.dirname(file)) ? undefined : `it belongs to ${places.join(', ')} only`;
}

/** Circles of imports, type imports included: each as the files that reach each other, in order of their paths. */
export function findImportCircles(files: readonly SourceFile[]): readonly string[] {
  const imports = new Map(
    files.map(({ path: file, text }) => [
      file,
      importsOf(text).flatMap(({ specifier }) =>
        specifier?.startsWith('.') === true ? [path.posix.join(path.posix.dirname(file), specifier)] : [],
      ),
    ]),
  );
  const reachable = new Map([...imports.keys()].map((file) => [file, reachableFrom(file, imports)]));
  const circles = new Set<string>();
  for (const [file, others] of reachable) {
    if (!others.has(file)) continue;
    const circle = [...others].filter((other) => reachable.get(other)?.has(file) === true);
    circles.add(circle.toSorted().join(' '));
  }
  return [...circles].map((circle) => `these files import each other: ${circle}`);
}

/** The files that a file imports, directly or through others; itself only if it is part of a circle. */
function reachableFrom(file: string, imports: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...(imports.get(file) ?? [])];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (found.has(next)) continue;
    found.add(next);
    waiting.push(...(imports.get(next) ?? []));
  }
  return found;
}

/** Files that only pass on what others export, other than the public ones. */
export function findBarrels(files: readonly SourceFile[]): readonly string[] {
  return files
    .filter((file) => !barrels.includes(file.path))
    .filter((file) => importsOf(file.text).some(({ reExports }) => reExports))
    .map((file) => `${file.path} passes on what another file exports; import it from there`);
}

/** Files that are too long, oddly named or silent about what they hold. */
export function findUntidyFiles(files: readonly SourceFile[]): readonly string[] {
  return files.flatMap((file) => {
    const problems: string[] = [];
    const lines = file.text.trimEnd().split('\n').length;
    if (lines > lineLimit) problems.push(`${file.path} has ${lines} lines, more than ${lineLimit}`);
    const parts = file.path.replace(/\.ts$/, '').split('/');
    if (!parts.every((part) => kebabCase.test(part))) problems.push(`${file.path} is not named in kebab-case`);
    if (!/^\/[/*]/.test(file.text)) problems.push(`${file.path} does not open with a comment about what it holds`);
    if (/^export default\b/m.test(file.text)) problems.push(`${file.path} has a default export`);
    return problems;
  });
}

/** Returns packages that only the table or only package.json has, or that no file imports. */
export function findStrayPackages(
  files: readonly SourceFile[],
  table: ImportTable,
  dependencies: readonly string[],
): readonly string[] {
  const used = new Set(files.flatMap((file) => importsOf(file.text).map(({ specifier }) => specifier ?? '')));
  const isUsed = (name: string): boolean => [...used].some((each) => each === name || each.startsWith(`${name}/`));
  return [
    ...dependencies.filter((name) => !table.packages.has(name)).map((name) => `${name} has no row in the table`),
    ...[...table.packages.keys()]
      .filter((name) => !dependencies.includes(name))
      .map((name) => `${name} has a row in the table but is no dependency`),
    ...dependencies.filter((name) => !isUsed(name)).map((name) => `${name} is a dependency that no file imports`),
  ];
}

/** TypeScript projects whose references differ from the table: room → rooms it refers to, as the files say. */
export function findWrongReferences(
  references: ReadonlyMap<string, readonly string[]>,
  table: ImportTable,
): readonly string[] {
  const rooms = [...references.keys()].filter((room) => room !== 'index');
  return [...references].flatMap(([room, actual]) => {
    const row =
      table.rooms.get(room) ?? table.rooms.get(`${room}/*`) ?? table.rooms.get(`${path.posix.dirname(room)}/*`);
    if (row === undefined) return [`${room} has a project but no row in the table`];
    const expected = rooms.filter((other) => other !== room && isNamed(row, other));
    const missing = expected.filter((other) => !actual.includes(other));
    const extra = actual.filter((other) => !expected.includes(other));
    return [
      ...missing.map((other) => `the project ${room} lacks a reference to ${other}`),
      ...extra.map((other) => `the project ${room} refers to ${other}, which the table does not allow`),
    ];
  });
}

/** A project may be one room (`backends/memory`) or hold a whole family (`plugins`). */
function isNamed(row: readonly string[], project: string): boolean {
  return row.includes(project) || row.includes(`${project}/*`) || row.includes(`${path.posix.dirname(project)}/*`);
}
