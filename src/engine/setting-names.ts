// Names of the settings of a kind, to find misspelt ones.
import { settingName } from '../core/permissions/inheritance.ts';
import type { CompiledKind } from './compiled-kind.ts';

const methods = ['get', 'head', 'post', 'put', 'patch', 'delete'] as const;

/** Returns the name of the setting that enables a method, in lower case, of the lists or objects of a kind. */
export function methodSetting(on: 'plural' | 'object', kind: string, method: string): string {
  return `${on}_${kind}_${method}_enabled`;
}

/**
 * Returns the names of the settings of a kind, besides those that contain the id of an object. Methods that the kind does not
 * have are included: to disable them is no mistake.
 */
export function settingNamesOf(kind: CompiledKind): readonly string[] {
  const { name, permissions, declaration, rules } = kind;
  const own = [...permissions, ...Object.keys(declaration.permissions?.granted ?? {})].filter(
    (permission) => !permission.includes(':'),
  );
  const granting = [...Object.values(rules), ...own.map((permission) => kind.rule(permission))];
  return [
    ...new Set([
      ...granting.flatMap(({ entries }) => entries?.settingNames ?? []),
      ...own.map((permission) => settingName(name, permission)),
      ...methods.flatMap((method) => [methodSetting('plural', name, method), methodSetting('object', name, method)]),
      `${name}_cache_expires_seconds`,
      `${name}_id_generator`,
    ]),
  ];
}
