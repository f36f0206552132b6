// The list of own permissions (docs/reference/http-api/endpoints.md#permissions).
import { absent, including, only, unordered } from './match.ts';
import { describeScenarios } from './scenarios.ts';

const entry = (uri: string, kind: string, permissions: readonly string[]): object => ({
  uri,
  resource_name: kind,
  permissions: unordered(...permissions),
});

describeScenarios(
  'the list of own permissions',
  [
    // Proves S-137, S-138, S-140, S-256.
    {
      name: "The list shows the caller's permissions on each object, expanded on that object.",
      given: [
        'record',
        'PUT {G}/g',
        'bob: PUT {B}x',
        `bob: PUT {B}x/collections/d {"permissions":{"record:create":["{alice}"]}}`,
      ],
      request: 'GET /permissions?uri="{B}"',
      status: 200,
      body: {
        data: [
          only({
            uri: '{B}',
            resource_name: 'bucket',
            id: '{b}',
            bucket_id: '{b}',
            permissions: unordered('read', 'read:attributes', 'write', 'collection:create', 'group:create'),
          }),
        ],
      },
      gives: { etag: absent, 'last-modified': absent },
      then: [
        {
          request: 'GET /permissions?resource_name=record',
          body: {
            data: [
              only({
                uri: '{R}/r',
                resource_name: 'record',
                id: 'r',
                bucket_id: '{b}',
                collection_id: 'c',
                record_id: 'r',
                permissions: unordered('read', 'write'),
              }),
            ],
          },
        },
        {
          request: 'GET /permissions?resource_name=group',
          body: { data: [entry('{G}/g', 'group', ['read', 'write'])] },
        },
        {
          request: 'GET /permissions?collection_id=d',
          body: { data: [entry('{B}x/collections/d', 'collection', ['read:attributes', 'record:create'])] },
        },
        {
          request: 'GET /permissions?collection_id=c&resource_name=collection',
          body: { data: [entry('{C}', 'collection', ['read:attributes', 'read', 'write', 'record:create'])] },
        },
        {
          request: 'GET /permissions',
          body: {
            data: [
              { uri: '{B}x/collections/d' },
              { uri: '{G}/g' },
              { uri: '{R}/r' },
              { uri: '{C}' },
              { uri: '{B}' },
              only({ uri: '/', resource_name: 'root', permissions: ['bucket:create'] }),
            ],
          },
        },
        { request: 'HEAD /permissions', gives: { 'total-objects': '6', 'total-records': '6' } },
        { request: 'GET /permissions?_sort=uri&_limit=2', body: { data: [{ uri: '/' }, { uri: '{B}' }] }, save: 'p' },
        { request: 'GET {p.next}', body: { data: [{ uri: '{C}' }, { uri: '{R}/r' }] } },
        { request: 'GET /permissions?contains_permissions=group:create', body: { data: [{ uri: '{B}' }] } },
        {
          request: 'GET /permissions?contains_any_permissions=["bucket:create","group:create"]',
          body: { data: unordered({ uri: '/' }, { uri: '{B}' }) },
        },
        {
          request: 'GET /permissions?_fields=uri&resource_name=bucket',
          body: { data: [only({ uri: '{B}', id: '{b}' })] },
        },
        { request: 'GET /permissions?resource_name=bucket', headers: { 'If-None-Match': '"1"' }, status: 200 },
      ],
    },
    { name: 'Everyone may read the list.', request: 'nobody: GET /permissions', status: 200, body: { data: [] } },
    {
      name: 'Objects that everyone may read are in the list of anonymous callers.',
      given: ['PUT {B} {"permissions":{"read":["system.Everyone"]}}'],
      request: 'nobody: GET /permissions',
      body: { data: including(entry('{B}', 'bucket', ['read', 'read:attributes'])) },
    },
    // Proves S-137.
    {
      name: 'Permissions through groups are in the list.',
      given: ['PUT {B}', 'PUT {G}/g {"data":{"members":["{bob}"]}}', 'PUT {C} {"permissions":{"write":["{G}/g"]}}'],
      request: 'bob: GET /permissions?resource_name=collection',
      body: { data: [{ uri: '{C}' }] },
    },
    { name: 'An unknown field is refused.', request: 'GET /permissions?color=1', issues: [['querystring', 'color']] },
    {
      name: 'An unknown selected field is refused.',
      request: 'GET /permissions?_fields=color',
      status: 400,
      errno: 107,
    },
    { name: 'The list is for reading only.', request: 'DELETE /permissions', status: 405, errno: 115 },
  ],
  { settings: { experimental_permissions_endpoint: 'true' } },
);

describeScenarios(
  'the list of own permissions, by settings',
  [
    {
      name: 'A setting that lets the caller write all records lists the right to create them.',
      given: ['collection'],
      request: 'bob: GET /permissions?uri={C}',
      body: { data: [entry('{C}', 'collection', ['record:create', 'read:attributes'])] },
      then: [{ request: 'bob: POST {R}', status: 201 }],
    },
  ],
  { settings: { experimental_permissions_endpoint: 'true', record_write_principals: 'system.Authenticated' } },
);
