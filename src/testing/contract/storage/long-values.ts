// Cases about lists with long arrays and texts. Backends test many conditions on them in another way than on short ones, so
// that requests do not wait.
import type { JsonValue } from '../../../base/json.ts';
import type { StorageCase } from '../contract-case.ts';
import { table, type Objects } from './filters.ts';
import { compare, contains, containsAny, like, noneOf, oneOf } from './storage-probe.ts';

const longNumbers = Array.from({ length: 30_000 }, (_, n) => n);
const long: Objects = {
  numbers: { list: longNumbers, o: { list: longNumbers } },
  objects: { list: Array.from({ length: 2000 }, (_, n) => ({ n, in: [n, n + 1], rest: 'x'.repeat(20) })) },
  text: { list: [], s: `${'ab'.repeat(70_000)}${'a'.repeat(700)}END` },
  short: { list: [29_999, { n: 1999, in: [2000] }], s: 'end' },
  other: { list: [-1], s: '' },
};
const unknown: readonly JsonValue[] = Array.from({ length: 300 }, (_, n) => -2 - n);
const always = compare('none', 'not', 1);

/** Selections of objects with long values. */
export const longValueCases: readonly StorageCase[] = [
  ...table(long, [
    ['an element of a long array is one of many values', containsAny('list', ...unknown, 29_999), 'numbers short'],
    ['a long array has many values', contains('list', ...longNumbers.slice(-400)), 'numbers'],
    ['a long array lacks one of many values', contains('list', ...longNumbers.slice(-400), -9), ''],
    ['a long array has one of many objects', containsAny('list', ...unknown, { in: [2000] }), 'objects short'],
    ['a long array has objects', contains('list', { in: [1999] }, { n: 1999 }), 'objects'],
    ['a long array is equal to another one', compare('o.list', 'eq', longNumbers), 'numbers'],
    ['a long array is one of many values', oneOf('o.list', ...unknown, longNumbers), 'numbers'],
    ['a long array is none of many values', noneOf('list', ...unknown, longNumbers), 'objects text short other'],
    ['a long text has a long part', like('s', `*b${'a'.repeat(600)}*`), 'text'],
    ['a long text has parts in order', like('s', '*ba*aaa*e*d'), 'text'],
  ]),
  ...table(long, [
    [
      'one of many conditions selects objects, long ones too',
      {
        operator: 'or',
        branches: [
          ...unknown.slice(0, 40).map((value) => [contains('list', value)]),
          [like('s', '*end')],
          [containsAny('list', { n: 5 }), always],
        ],
      },
      'objects text short',
    ],
    [
      'no element of a long array matches one of many conditions',
      {
        operator: 'nor',
        branches: unknown.slice(0, 40).map((value) => [
          {
            field: { name: 'list', path: ['list'] },
            operator: 'elements',
            filters: [
              {
                operator: 'or',
                branches: [
                  [{ field: { name: '', path: [] }, operator: 'eq', value }],
                  [{ field: { name: 'n', path: ['n'] }, operator: 'eq', value: 1999 }],
                ],
              },
            ],
          },
        ]),
      },
      'numbers text other',
    ],
  ]),
];
