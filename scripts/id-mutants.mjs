// Faults in what keeps hostile ids away, one for each layer: the rules of paths, the decision who learns what is wrong with an
// id, aliases, addresses of files and instants, and what backends refuse to store. Part of `mutants.mjs`.

/** @type {readonly import('./mutants.mjs').Mutant[]} */
export const idMutants = [
  // Ids
  {
    name: 'any text in a path is an id',
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
    name: 'ids have no longest length',
    file: 'src/core/objects/object-id.ts',
    find: "text !== '' && text.length <= limit && accepts(text) ?",
    replace: "text !== '' && accepts(text) ?",
    backend: 'memory',
  },
  {
    name: 'ids that are refused are left out, and the request goes on',
    file: 'src/http/dispatch.ts',
    find: 'if (refused !== undefined) {',
    replace: 'if (refused !== undefined && endpoint.isResource === false) {',
    backend: 'memory',
  },
  {
    name: 'nobody looks at ids below an alias',
    file: 'src/http/dispatch.ts',
    find: 'return { route, below: path, request, prepare };',
    replace: 'return { route: { ...route, refused: undefined }, below: path, request, prepare };',
    backend: 'memory',
  },
  {
    name: 'strangers learn what is wrong with an address',
    file: 'src/http/dispatch.ts',
    find: 'if (alias === undefined) await operation.requireAccess?.(context);',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'an address with a refused id is refused to all alike',
    file: 'src/engine/access.ts',
    find: 'for (const rule of rules) if (await isGranted(rule, caller, unit.reader, ids)) return;',
    replace: '',
    backend: 'memory',
  },
  {
    name: 'to create is not enough to learn what is wrong with an id',
    file: 'src/engine/resource-endpoints.ts',
    find: '...serve(replaceObject, write, create)',
    replace: '...serve(replaceObject, write)',
    backend: 'memory',
  },
  {
    name: 'a personal bucket is made for an address with a refused id',
    file: 'src/http/dispatch.ts',
    find: 'if (refused !== undefined) {',
    replace: 'if (refused !== undefined) {\n      await served.prepare?.();',
    backend: 'memory',
  },
  {
    name: 'a form is received for a record that cannot be',
    file: 'src/http/dispatch.ts',
    find: 'if (receive !== undefined && refused === undefined) {',
    replace: 'if (receive !== undefined) {',
    backend: 'memory',
  },
  {
    name: 'the addresses of files are not looked at',
    file: 'src/engine/endpoint.ts',
    find: String.raw`accepts: (text) => !/[\p{Cc}\p{Cs}]/u.test(text),`,
    replace: 'accepts: () => true,',
    backend: 'memory',
  },
  {
    name: 'any text is an instant',
    file: 'src/plugins/history/snapshot-endpoint.ts',
    find: String.raw`accepts: (text) => /^\d{1,20}$/.test(text),`,
    replace: 'accepts: () => true,',
    backend: 'memory',
  },
  {
    name: 'the ids of objects in other places are not looked at',
    file: 'src/engine/objects.ts',
    find: "const id = each.ids.parse(texts[each.idName] ?? '');",
    replace: "const id = texts[each.idName] ?? '';",
    backend: 'memory',
  },
  {
    name: 'POST takes any id',
    file: 'src/engine/verbs/create.ts',
    find: "const accepted = typeof id === 'string' ? kind.ids.parse(id) : undefined;",
    replace: "const accepted = typeof id === 'string' ? id : undefined;",
    backend: 'memory',
  },

  // Texts that cannot be stored: nothing that is sent over HTTP gets that far
  {
    name: 'SQLite cuts texts at null characters',
    file: 'src/backends/sqlite/connection.ts',
    find: "if (typeof value === 'string') requireStorable(value);",
    replace: "if (typeof value === 'string') continue;",
    backend: 'sqlite',
    tests: 'test/contract/sqlite.test.ts',
    only: 'cannot be stored',
  },
  {
    name: 'objects in memory have ids that nothing else can store',
    file: 'src/backends/memory/list-table.ts',
    find: '    requireStorable(object.id);\n',
    replace: '',
    backend: 'memory',
    tests: 'test/contract/memory.test.ts',
    only: 'cannot be stored',
  },
  {
    name: 'entries in memory name principals that nothing else can store',
    file: 'src/backends/memory/grant-table.ts',
    find: '    requireStorable(principal);\n    const grants',
    replace: '    const grants',
    backend: 'memory',
    tests: 'test/contract/memory.test.ts',
    only: 'cannot be stored',
  },
];
