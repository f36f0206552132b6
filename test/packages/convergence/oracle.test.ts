// The oracle of the histories notices what clients must not do.
import { describe, expect, it } from 'vitest';
import { findFaults, type Edits } from './oracle.ts';
import type { Item, Strategy } from './replica.ts';
import type { Version } from './world.ts';

const version = (user: string, a: number, b: number): Version => ({ user, id: 'r', item: { id: 'r', a, b } });
const removal = (user: string): Version => ({ user, id: 'r', item: undefined });
const edits = (strategy: Strategy, made: Edits['made'], more: Partial<Edits> = {}): Edits => ({
  strategy,
  made,
  confirmed: [],
  refused: [],
  mayForget: false,
  ...more,
});
const setA = (value: number) => ({ id: 'r', field: 'a' as const, value });
const setB = (value: number) => ({ id: 'r', field: 'b' as const, value });
const record = (a: number, b: number): Item => ({ id: 'r', a, b });

describe('The oracle', () => {
  it.each<[string, Version[], [string, Edits][]]>([
    ['an edit', [version('x', 1, 0)], [['x', edits('server', [setA(1)])]]],
    [
      'merged edits',
      [version('x', 1, 0), version('y', 1, 2)],
      [
        ['x', edits('merge', [setA(1)])],
        ['y', edits('merge', [setB(2)])],
      ],
    ],
    [
      'an edit that has lost against the service',
      [version('x', 1, 0)],
      [
        ['x', edits('merge', [setA(1)])],
        ['y', edits('server', [setA(2)])],
      ],
    ],
    [
      'a client that wins as a whole',
      [version('x', 1, 0), version('x', 1, 3), version('y', 2, 0)],
      [
        ['x', edits('merge', [setA(1), setB(3)])],
        ['y', edits('client', [setA(2)])],
      ],
    ],
    [
      'an edit that a deletion of others has defeated',
      [version('x', 1, 0), removal('x')],
      [
        ['x', edits('server', [setA(1), { id: 'r' }])],
        ['y', edits('merge', [setB(2)])],
      ],
    ],
    [
      'an edit that has lost against an own one',
      [version('x', 0, 1)],
      [['x', edits('server', [setB(1), setA(2)], { mayForget: true })]],
    ],
    ['an edit that another one has replaced', [version('x', 2, 0)], [['x', edits('client', [setA(1), setA(2)])]]],
  ])('accepts %s', (_, versions, given) => {
    expect(findFaults(versions, new Map(given))).toEqual([]);
  });

  it.each<[string, RegExp, Version[], [string, Edits][]]>([
    ['a lost edit', /lost the value 1/, [], [['x', edits('server', [setA(1)])]]],
    [
      'a lost edit of a client that wins',
      /lost the value 2/,
      [version('x', 1, 0)],
      [
        ['x', edits('server', [setA(1)])],
        ['y', edits('client', [setA(2)])],
      ],
    ],
    [
      'a lost edit of a client that merges',
      /lost the value 2/,
      [version('x', 1, 0)],
      [
        ['x', edits('server', [setA(1)])],
        ['y', edits('merge', [setA(2)])],
      ],
    ],
    [
      'a lost confirmed edit',
      /lost the confirmed value 1/,
      [version('y', 5, 0)],
      [
        ['x', edits('server', [setA(1)], { confirmed: [record(1, 0)] })],
        ['y', edits('server', [setA(5)])],
      ],
    ],
    [
      'an edit of others that a merge has undone',
      /changed b of r from 3 to 7/,
      [version('x', 1, 7), version('x', 1, 3), version('y', 2, 7)],
      [
        ['x', edits('merge', [setA(1), setB(7), setB(3)])],
        ['y', edits('merge', [setA(2)])],
      ],
    ],
    ['an invented value', /changed a of r from undefined to 9/, [version('x', 9, 0)], [['x', edits('server', [])]]],
    [
      'a deletion without an edit',
      /deleted r/,
      [version('x', 1, 0), removal('y')],
      [
        ['x', edits('server', [setA(1)])],
        ['y', edits('server', [])],
      ],
    ],
    [
      'a refused edit that was written',
      /wrote 1 to r/,
      [version('x', 1, 0)],
      [['x', edits('manual', [setA(1)], { refused: [1] })]],
    ],
  ])('reports %s', (_, text, versions, given) => {
    expect(findFaults(versions, new Map(given)).join('\n')).toMatch(text);
  });
});
