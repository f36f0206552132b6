// The public numbers of objects and tombstones.
import { only } from './match.ts';
import { describeScenarios } from './scenarios.ts';

// Every service of these tables has its own store, and each table one scenario that changes it.
describeScenarios(
  'counters',
  [
    {
      name: 'Objects and tombstones are counted by kind, without empty kinds.',
      given: [
        { request: 'nobody: GET /__counters__', body: only({ objects: only({}), tombstones: only({}) }) },
        'PUT {B}',
        'PUT {C}',
        'PUT {B}/collections/d',
        'PUT {R}/a',
        'PUT {R}/b',
        'DELETE {R}/b',
        'PUT {G}/g',
      ],
      request: 'nobody: GET /__counters__',
      body: only({
        objects: only({ bucket: 1, collection: 2, record: 1, group: 1, history: 7 }),
        tombstones: only({ record: 1 }),
      }),
      then: [
        { request: 'GET /__counters__', headers: { Authorization: 'Basic nonsense' }, status: 200 },
        { request: 'HEAD /__counters__', text: '' },
        { request: 'POST /__counters__', status: 405 },
        { request: 'GET /', body: { capabilities: { counters_endpoint: { description: /./, url: /./ } } } },
        'DELETE {B}',
        { request: 'GET /__counters__', body: only({ objects: only({}), tombstones: only({ bucket: 1 }) }) },
      ],
    },
  ],
  { settings: { includes: 'counters history' } },
);

describeScenarios('without the plugin', [
  { name: 'Counters are disabled by default.', request: 'GET /__counters__', status: 404, errno: 111 },
]);
