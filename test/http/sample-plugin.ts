// A plugin like those of external authors: a user resource, a shareable kind with its own permission and id generator, an
// endpoint, a capability and a health check. The tests in this folder prove that these declarations are enough.
import { plainText } from '../../src/engine/endpoint.ts';
import { jsonResponse } from '../../src/engine/exchange.ts';
import type { ResourceKind } from '../../src/engine/kind.ts';
import { definePlugin } from '../../src/http/plugin.ts';

/** Notes: each user has a list of their own at the same address. */
const note: ResourceKind = {
  name: 'note',
  path: '/notes',
  flavour: 'user',
  idGenerator: 'RelaxedUUID',
  checkAttributes(attributes, complain) {
    if (Object.hasOwn(attributes, 'text') && typeof attributes['text'] !== 'string')
      complain('text', 'expected a text');
    return attributes;
  },
};

let issued = 0;

/** Articles: shareable, can be published apart from being written, and are numbered. */
const article: ResourceKind = {
  name: 'article',
  path: '/articles',
  flavour: 'shareable',
  permissions: {
    names: ['read', 'write', 'publish'],
    granted: {
      read: [
        { kind: 'article', entry: 'read' },
        { kind: 'article', entry: 'publish' },
        { kind: 'article', entry: 'write' },
      ],
      publish: [
        { kind: 'article', entry: 'publish' },
        { kind: 'article', entry: 'write' },
      ],
      write: [{ kind: 'article', entry: 'write' }],
    },
  },
  customIds: {
    generate: () => `no-${(issued += 1)}`,
    match: (id) => /^no-\d+$/.test(id),
  },
};

export const samplePlugin = definePlugin({
  name: 'sample',
  setup: ({ documentationUrl }) => ({
    kinds: [note, article],
    endpoints: [
      {
        name: 'hello',
        path: '/hello/{name}',
        parameters: { name: plainText },
        isResource: false,
        operations: {
          GET: {
            id: 'hello',
            handle: ({ parameters, caller }) =>
              Promise.resolve(jsonResponse(200, { hello: parameters['name'] ?? '', you: caller.userId ?? null })),
          },
        },
      },
    ],
    capabilities: { sample: { description: 'Notes and articles.', url: documentationUrl('sample'), level: 3 } },
    userInfo: ({ principal }) => ({ shout: principal.toUpperCase() }),
    healthChecks: { sample: () => Promise.resolve(null) },
  }),
});
