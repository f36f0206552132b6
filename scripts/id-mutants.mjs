// Faults in the defence against hostile ids, one for each layer: the rules of paths, the decision between 400 and 401 or 403
// for a refused id, aliases, addresses of files, instants, and the texts that backends refuse. Part of `mutants.mjs`.

/** @type {readonly import('./mutants.mjs').Mutant[]} */
export const idMutants = [
  // Ids
  {
    name: 'any text in a path is accepted as an id',
    file: 'src/http/path-rules.ts',
    find: 'const id = part.ids.parse(text);',
    replace: 'const id = text;',
    backend: 'sqlite',
  },
  {
    name: 'the rule of a kind accepts any id',
    file: 'src/core/objects/object-id.ts',
    find: "text !== '' && text.length <= limit && accepts(text) ?",
    replace: "text !== '' ?",
    backend: 'memory',
  },
  {
    name: 'ids have no maximum length',
    file: 'src/core/objects/object-id.ts',
    find: "text !== '' && text.length <= limit && accepts(text) ?",
    replace: "text !== '' && accepts(text) ?",
    backend: 'memory',
  },
  {
    name: 'refused ids are ignored, and the request continues',
    file: 'src/http/dispatch.ts',
    find: 'if (refused !== undefined) {',
    replace: 'if (refused !== undefined && endpoint.isResource === false) {',
    backend: 'memory',
  },
  {
    name: 'ids below an alias are not validated',
    file: 'src/http/dispatch.ts',
    find: 'return { route, below: path, request, prepare };',
    replace: 'return { route: { ...route, refused: undefined }, below: path, request, prepare };',
    backend: 'memory',
  },
  {
    name: 'callers without access get 400 for a refused id',
    file: 'src/http/dispatch.ts',
    find: 'if (alias === undefined) await operation.requireAccess?.(context);',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'callers with access get no 400 for a refused id',
    file: 'src/engine/access.ts',
    find: 'for (const rule of rules) if (await isGranted(rule, caller, unit.reader, ids)) return;',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'callers that may only create get no 400 for a refused id',
    file: 'src/engine/resource-endpoints.ts',
    find: '...serve(replaceObject, write, create)',
    replace: '...serve(replaceObject, write)',
    backend: 'memory',
  },
  {
    name: 'a request with a refused id creates the personal bucket',
    file: 'src/http/dispatch.ts',
    find: 'if (refused !== undefined) {',
    replace: 'if (refused !== undefined) {\n      await served.prepare?.();',
    backend: 'memory',
  },
  {
    name: 'a form is received for a record with a refused id',
    file: 'src/http/dispatch.ts',
    find: 'if (receive !== undefined && refused === undefined) {',
    replace: 'if (receive !== undefined) {',
    backend: 'memory',
  },
  {
    name: 'addresses of files are not validated',
    file: 'src/engine/endpoint.ts',
    find: String.raw`accepts: (text) => !/[\p{Cc}\p{Cs}]/u.test(text),`,
    replace: 'accepts: () => true,',
    backend: 'memory',
  },
  {
    name: 'any text is accepted as an instant',
    file: 'src/plugins/history/snapshot-endpoint.ts',
    find: String.raw`accepts: (text) => /^\d{1,20}$/.test(text),`,
    replace: 'accepts: () => true,',
    backend: 'memory',
  },
  {
    name: 'ids of objects from settings and bodies are not validated',
    file: 'src/engine/objects.ts',
    find: "const id = each.ids.parse(texts[each.idName] ?? '');",
    replace: "const id = texts[each.idName] ?? '';",
    backend: 'memory',
  },
  {
    name: 'POST accepts any id',
    file: 'src/engine/verbs/create.ts',
    find: "const accepted = typeof id === 'string' ? kind.ids.parse(id) : undefined;",
    replace: "const accepted = typeof id === 'string' ? id : undefined;",
    backend: 'memory',
  },

  // Texts that cannot be stored. Requests over HTTP never reach these checks, so contract cases notice the faults.
  {
    name: 'SQLite truncates texts at null characters',
    file: 'src/backends/sqlite/connection.ts',
    find: "if (typeof value === 'string') requireStorable(value);",
    replace: "if (typeof value === 'string') continue;",
    backend: 'sqlite',
    tests: 'test/contract/sqlite.test.ts',
    only: 'cannot be stored',
  },
  {
    name: 'the memory backend stores ids that other backends cannot store',
    file: 'src/backends/memory/list-table.ts',
    find: '    requireStorable(object.id);\n',
    replace: '',
    backend: 'memory',
    tests: 'test/contract/memory.test.ts',
    only: 'cannot be stored',
  },
  {
    name: 'the memory backend stores principals that other backends cannot store',
    file: 'src/backends/memory/grant-table.ts',
    find: '    requireStorable(principal);\n    const grants',
    replace: '    const grants',
    backend: 'memory',
    tests: 'test/contract/memory.test.ts',
    only: 'cannot be stored',
  },
];
