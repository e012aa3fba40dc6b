/** Members behind CGI and its like cannot tell `x_real_ip` or `x.real.ip` from `x-real-ip`: to them all are this one. */
export function plainName(name: string): string {
  return otherMark.test(name) ? name.replace(otherMarks, '-') : name;
}

const otherMark = /[^a-z0-9-]/;
const otherMarks = /[^a-z0-9-]/g;
