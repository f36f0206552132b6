import { describe, expect, it } from 'vitest';
import { parseJson } from '../../../src/base/json.ts';
import { runAtOnce } from '../../../src/base/steps.ts';
import type { Issue, ServiceError } from '../../../src/core/errors.ts';
import { parseOperations } from '../../../src/core/patch/operations.ts';
import { patchObject, type PatchResult } from '../../../src/core/patch/object-patch.ts';
import { EVERYONE, toPrincipals } from '../../../src/core/permissions/principals.ts';

const target = {
  data: { id: 'a', last_modified: 12, status: 'draft', list: ['zoe'] },
  permissions: { write: toPrincipals(['basicauth:x', 'basicauth:y']), read: [EVERYONE] },
  permissionNames: new Set(['read', 'write', 'record:create']),
};

function patch(operations: unknown): PatchResult {
  return runAtOnce(patchObject(target, parseOperations(parseJson(JSON.stringify(operations)))));
}

function nameOf(operations: unknown): Issue['name'] {
  try {
    patch(operations);
  } catch (error) {
    return ((error as ServiceError).details as readonly Issue[])[0]!.name;
  }
  throw new Error('nothing was refused');
}

describe('JSON patch on an object with permissions', () => {
  it('without permission operations changes no permission', () => {
    expect(patch([{ op: 'replace', path: '/data/status', value: 'done' }])).toEqual({
      data: { ...target.data, status: 'done' },
      permissions: {},
    });
    expect(patch([])).toEqual({ data: target.data, permissions: {} });
  });

  it('grants to a group and revokes from a user at once', () => {
    const result = patch([
      { op: 'test', path: '/data/status', value: 'draft' },
      { op: 'add', path: '/permissions/read/~1buckets~1library~1groups~1staff' },
      { op: 'remove', path: '/permissions/write/basicauth:x' },
    ]);
    expect(result.permissions).toEqual({
      read: ['system.Everyone', '/buckets/library/groups/staff'],
      write: ['basicauth:y'],
    });
    expect(result.data).toEqual(target.data);
  });

  it('ignores the value sent with a principal', () => {
    expect(patch([{ op: 'add', path: '/permissions/read/zoe', value: { any: 1 } }]).permissions).toEqual({
      read: ['system.Everyone', 'zoe'],
    });
  });

  it('adds to any permission without principals', () => {
    expect(patch([{ op: 'add', path: '/permissions/record:create/zoe' }]).permissions).toEqual({
      'record:create': ['zoe'],
    });
  });

  it('does not report a permission that ends up as it was', () => {
    const result = patch([
      { op: 'remove', path: '/permissions/write/basicauth:x' },
      { op: 'add', path: '/permissions/write/basicauth:x' },
      { op: 'add', path: '/permissions/write/basicauth:y' },
    ]);
    expect(result.permissions).toEqual({});
  });

  it('tests for principals, with or without a value', () => {
    expect(() => patch([{ op: 'test', path: '/permissions/write/basicauth:x' }])).not.toThrow();
    expect(() => patch([{ op: 'test', path: '/permissions/write/basicauth:x', value: 'basicauth:x' }])).not.toThrow();
    expect(nameOf([{ op: 'test', path: '/permissions/write/zoe' }])).toBeNull();
    expect(nameOf([{ op: 'test', path: '/permissions/write/basicauth:x', value: 'zoe' }])).toBeNull();
    expect(nameOf([{ op: 'remove', path: '/permissions/write/zoe' }])).toBeNull();
  });

  it('replaces a whole permission by an object or a list, which later operations can change', () => {
    expect(patch([{ op: 'replace', path: '/permissions/read', value: { a: 'b' } }]).permissions).toEqual({
      read: ['a'],
    });
    const refined = patch([
      { op: 'replace', path: '/permissions/read', value: ['a', 'a', 'b'] },
      { op: 'add', path: '/permissions/read/c' },
      { op: 'remove', path: '/permissions/read/a' },
    ]);
    expect(refined.permissions).toEqual({ read: ['b', 'c'] });
  });

  it('empties removed permissions, which still exist', () => {
    expect(patch([{ op: 'remove', path: '/permissions/read' }]).permissions).toEqual({ read: [] });
    expect(patch([{ op: 'remove', path: '/permissions' }]).permissions).toEqual({ read: [], write: [] });
    const again = patch([
      { op: 'remove', path: '/permissions/read' },
      { op: 'add', path: '/permissions/read/zoe' },
    ]);
    expect(again.permissions).toEqual({ read: ['zoe'] });
    expect(patch([{ op: 'replace', path: '/permissions', value: { read: ['a'] } }]).permissions).toEqual({
      read: ['a'],
      write: [],
    });
  });

  it('moves and copies principals between permissions and from attributes', () => {
    const moved = patch([
      { op: 'move', from: '/permissions/write/basicauth:x', path: '/permissions/read/basicauth:x' },
    ]);
    expect(moved.permissions).toEqual({ write: ['basicauth:y'], read: ['system.Everyone', 'basicauth:x'] });
    expect(patch([{ op: 'copy', from: '/data/list', path: '/permissions/read' }]).permissions).toEqual({
      read: ['zoe'],
    });
    expect(
      patch([{ op: 'copy', from: '/permissions/write/basicauth:x', path: '/permissions/read/zoe' }]).permissions,
    ).toEqual({ read: ['system.Everyone', 'zoe'] });
  });

  it('refuses permissions that the kind does not have', () => {
    expect(nameOf([{ op: 'add', path: '/permissions/foo', value: {} }])).toBe('permissions');
    expect(nameOf([{ op: 'add', path: '/permissions/foo/zoe' }])).toBe('permissions');
    expect(nameOf([{ op: 'add', path: '/permissions/__proto__/zoe' }])).toBe('permissions');
    expect(nameOf([{ op: 'replace', path: '/permissions', value: { foo: [] } }])).toBe('permissions');
    expect(nameOf([{ op: 'replace', path: '/permissions', value: [] }])).toBe('permissions');
  });

  it('refuses permissions that are not lists of principals', () => {
    expect(nameOf([{ op: 'replace', path: '/permissions/read', value: 5 }])).toBe('permissions.read');
    expect(nameOf([{ op: 'replace', path: '/permissions/read', value: ['a', 5] }])).toBe('permissions.read.1');
    expect(nameOf([{ op: 'replace', path: '/permissions/read', value: ['a', ''] }])).toBe('permissions.read.1');
    expect(nameOf([{ op: 'add', path: '/permissions/read/' }])).toBe('permissions.read');
    expect(nameOf([{ op: 'add', path: '/permissions/read/zoe/x', value: 1 }])).toBeNull();
  });

  it('treats removed attributes as empty and discards members other than data and permissions', () => {
    expect(patch([{ op: 'remove', path: '/data' }]).data).toEqual({});
    expect(patch([{ op: 'add', path: '/other', value: 1 }])).toEqual({ data: target.data, permissions: {} });
    expect(patch([{ op: 'replace', path: '/data', value: { x: 1 } }]).data).toEqual({ x: 1 });
    expect(nameOf([{ op: 'replace', path: '/data', value: 5 }])).toBe('data');
  });

  it('keeps principals and attributes with the names of built-ins', () => {
    const result = patch([
      { op: 'add', path: '/permissions/read/__proto__' },
      { op: 'add', path: '/data/__proto__', value: 1 },
    ]);
    expect(result.permissions['read']).toEqual(['system.Everyone', '__proto__']);
    expect(Object.keys(result.data)).toContain('__proto__');
  });
});
