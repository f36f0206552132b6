// Texts with placeholders in braces, as the bodies and subjects of mails have them.

/** Values by placeholder. */
export type Placeholders = ReadonlyMap<string, string>;

/** Maximum number of characters of a value. Clients choose some of the values. */
export const maxValueChars = 1000;

/**
 * Replaces each known `{placeholder}` and doubled braces by single ones. Unknown placeholders stay unchanged, and values are
 * not expanded again.
 */
export function fillTemplate(template: string, placeholders: Placeholders): string {
  return template.replaceAll(/\{\{|\}\}|\{([^{}]+)\}/g, (whole, name?: string) => {
    if (name === undefined) return whole.slice(1);
    return placeholders.get(name)?.slice(0, maxValueChars) ?? whole;
  });
}
