package packages

const doc = `A package is installed, in the given version.

What is installed is read from the package manager's own records. A plan names the versions: the one that is there, and the one that the package lists offer. All packages that are due at the same time are installed, changed and removed in one transaction; if it fails, those that are still not as wanted are tried one by one, so that only what is wrong fails. A package or version that the package lists do not offer lets them be fetched anew, once; so does a source of packages (apt_repository) that is newer than the lists. A plan cannot know what they will say then, and says so. A virtual package, which others provide, is refused with their names.

A given version may also be a downgrade. Configuration files that were edited on the host are kept. Whether recommended packages come along is left to the host's own configuration. A package that an administrator holds is neither changed nor removed, unless the part gives hold.

While somebody else holds the package manager's lock, the part waits for lock_timeout, and says for whom. What an installation has left unfinished that was interrupted is found before anything is done, and the error names the command that repairs it; only if the part itself is about the unfinished package, it is tried to finish it.

The package manager is the one that the host has. apt (Debian, Ubuntu) is verified on real hosts. dnf, zypper and pacman are tested against what they print, as it was recorded with local repositories, and apk against its documented formats. With these an interruption is not looked for; dnf waits for its own locks by itself, in silence; and configuration that was edited stays with dnf and zypper even if purge is given. hold is possible with apt, dnf (with its versionlock plugin) and zypper. pacman offers one version of a package only; apk keeps to a version that a part gives, in /etc/apk/world.

A plan does not foresee what a package brings: what depends on it is marked as uncertain. A removal takes the packages along that need this one, as it does by hand: with apt a plan names them, an apply does before it acts, and a package that the site declares is an error. With apt a plan also asks whether what is wanted can be installed with all that it needs. The other managers are not asked: with these a plan is certain about no package that is to be installed, changed or removed, since what it needs, or what needs it, may refuse that.`
