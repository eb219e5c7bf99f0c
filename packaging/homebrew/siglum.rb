class Siglum < Formula
  desc "{{description}}"
  homepage "{{repository}}"
  version "{{version}}"
  license any_of: [{{licenses}}]

{{downloads}}
  def install
    bin.install "bin/siglum"
    man1.install Dir["share/man/man1/*.1"]
    bash_completion.install "share/bash-completion/completions/siglum"
    zsh_completion.install "share/zsh/site-functions/_siglum"
    fish_completion.install "share/fish/vendor_completions.d/siglum.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/siglum version")
  end
end
