// Texts of mails with placeholders in braces.

/** Values by placeholder. */
export type Placeholders = ReadonlyMap<string, string>;

/** Longest value put into a mail: clients choose some of them. */
const maxValueChars = 1000;

/**
 * Replaces each known `{placeholder}`, and doubled braces by single ones; unknown placeholders stay as they are. Values
 * are not looked at again.
 */
export function fillTemplate(template: string, placeholders: Placeholders): string {
  return template.replaceAll(/\{\{|\}\}|\{([^{}]+)\}/g, (whole, name?: string) => {
    if (name === undefined) return whole.slice(1);
    return placeholders.get(name)?.slice(0, maxValueChars) ?? whole;
  });
}
