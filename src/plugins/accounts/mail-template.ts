// Mail templates: texts with placeholders in braces.
import { formatJson, getKey, isJsonObject, type JsonObject, type JsonValue } from '../../base/json.ts';

export interface MailTemplate {
  readonly subject: string;
  readonly body: string;
}

/** Values by placeholder. */
export type Placeholders = ReadonlyMap<string, string>;

/** Returns whether the value is an object of texts. */
export function isTexts(value: JsonValue): boolean {
  return isJsonObject(value) && Object.values(value).every((text) => typeof text === 'string');
}

/** Maximum length of a value in a mail, since users choose most values. */
const maxValueChars = 1000;

/**
 * Returns the values for mails about an account: its attributes and its `email-context`. Values of the service override
 * both, so that no user can send false keys in the name of the service.
 */
export function placeholdersOf(attributes: JsonObject, own: Readonly<Record<string, string>>): Placeholders {
  const values = new Map<string, string>();
  const context = getKey(attributes, 'email-context');
  for (const source of [attributes, isJsonObject(context) ? context : {}]) {
    for (const [name, value] of Object.entries(source)) {
      values.set(name, (typeof value === 'string' ? value : formatJson(value)).slice(0, maxValueChars));
    }
  }
  values.delete('password');
  for (const [name, value] of Object.entries(own)) values.set(name, value);
  return values;
}

/** Replaces each known `{placeholder}`; unknown ones stay. */
export function fillTemplate(template: string, placeholders: Placeholders): string {
  return template.replaceAll(/\{([^{}]+)\}/g, (whole, name: string) => placeholders.get(name) ?? whole);
}
