/** Rules for forms. The pages' scripts check them before sending, and the server checks them again. */

export const maxPersonNameLength = 100;
export const aPersonName = `1 to ${maxPersonNameLength} characters`;

export const anEmailAddress = "an e-mail address such as ann@example.com";
const maxEmailLength = 254;
/**
 * The usual form of an e-mail address in RFC 5321. It has no quoted parts, comments or lists, and nothing that could end
 * a header or a command. The domain has a dot, and its last label isn't a number.
 */
const emailForm =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$/i;

export const isEmailAddress = (text: string): boolean =>
  text.length <= maxEmailLength && /^[^@]{1,64}@/.test(text) && emailForm.test(text);
