// A shared garden as one plugin: five kinds of objects, an authorization policy, and a page from a folder.
import { fileURLToPath } from 'node:url';
import { definePlugin, forReading, plainText, serveFile } from 'coffer';

const members = ['system.Authenticated'];
const everyone = ['system.Everyone'];
const forMembers = { create: members, read: members };
const text = { type: 'string', minLength: 1 };
const root = fileURLToPath(new URL('public/', import.meta.url));

/** @type {import('coffer').AttributeDeclaration} */
const plant = { unknown: 'drop', schema: { required: ['name'], properties: { name: text, sowed: text } } };
/** @type {import('coffer').AttributeDeclaration} */
const bed = {
  coerce: true,
  schema: { properties: { soil: { enum: ['loam', 'sand'], default: 'loam' }, area: { type: 'number', default: 1 } } },
};

/** @type {import('coffer').ResourceKind[]} */
const kinds = [
  // Each member has a list of their own at the same address; the objects carry permissions.
  { name: 'task', path: '/tasks', flavour: 'shareable', parentOf: ({ userId }) => userId },
  // One list for all: members create, everyone reads, and the creator changes or shares a notice. Ids are names.
  {
    name: 'notice',
    path: '/notices',
    flavour: 'shareable',
    idGenerator: 'NameGenerator',
    defaultPrincipals: { create: members, read: everyone },
  },
  // Keeps the attributes of the schema and drops all others.
  { name: 'plant', path: '/plants', flavour: 'shareable', defaultPrincipals: forMembers, attributes: plant },
  // Completes and converts: {} becomes {"soil": "loam", "area": 1}, and "3" becomes 3.
  { name: 'bed', path: '/beds', flavour: 'shareable', defaultPrincipals: forMembers, attributes: bed },
  // Without a schema, and private: no permissions are stored.
  { name: 'note', path: '/notes', flavour: 'user' },
];

/** Keeps the notice `rules` as it is, and refuses requests for all notices at once; entries and settings decide the rest. */
const authorizations = {
  garden: () => ({
    /** @param {import('coffer').AccessQuestion} question */
    decide: ({ kind, permission, on, ids, byDefault }) =>
      kind === 'notice' && permission === 'write' && (on === 'list' || ids.notice_id === 'rules') ? false : byDefault(),
  }),
};

// Without a policy of its own the page would have that of the API, which forbids styles and scripts.
const headers = { 'Content-Security-Policy': "default-src 'self'" };
/** @param {import('coffer').Context} context */
const serve = ({ request, parameters }) =>
  serveFile(request, { root, path: parameters['*'] ?? '', cacheSeconds: 60, headers });
const parameters = { '*': plainText };
const operations = forReading('garden_page', serve);
const page = { name: 'garden-page', path: '/garden/{*}', isResource: false, parameters, operations };

export default definePlugin({ name: 'garden', setup: () => ({ kinds, authorizations, endpoints: [page] }) });
